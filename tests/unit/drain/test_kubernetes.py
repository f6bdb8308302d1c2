"""A node of Kubernetes, with a stand-in for the API server. kubectl is a stand-in, too, and the real one where this machine has it."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import kubernetes as library
from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from tests.balancers import kubernetes

PLACE = "kubernetes localhost node1"


@pytest.fixture(params=kubernetes.PROGRAMS, ids=lambda program: program[-1].rpartition("/")[2])
def visit(request, tmp_path):
    def make(server, timeout=20, node="node1"):
        command = kubernetes.command(server, tmp_path, request.param)
        made = library.Kubernetes(node, command, ["--ignore-daemonsets"], timeout)
        return Visit(made, "kubernetes", "localhost", [PLACE])

    return make


def test_the_node_is_cordoned_and_drained_and_uncordoned(visit):
    with kubernetes.started() as server:
        for _each in range(2):
            assert visit(server).drain(0, True).places == {PLACE: "drained"}
        assert server.node["spec"] == {"unschedulable": True}
        assert server.pods == []
        for _each in range(2):
            assert visit(server).undrain().places == {PLACE: "serving"}
        assert server.node["spec"] == {}
        assert server.node["metadata"]["annotations"] == {}


def test_without_time_it_is_only_cordoned(visit):
    with kubernetes.started() as server:
        assert visit(server, timeout=0).drain(0, True).places == {PLACE: "drained"}
        assert len(server.pods) == 1


def test_a_node_that_others_have_cordoned_stays_so(visit):
    with kubernetes.started() as server:
        server.node["spec"]["unschedulable"] = True
        for answer in (visit(server).drain(0, True), visit(server).undrain()):
            assert (answer.changed, answer.places) == (False, {PLACE: "out"})
        assert (server.node["spec"], len(server.pods)) == ({"unschedulable": True}, 1)


def test_a_run_that_is_killed_half_way_leaves_no_node_that_others_seem_to_have_cordoned(visit, monkeypatch):
    commands = []

    def killed(words, **more):
        commands.append(words)
        if len(commands) > 2:  # a look, and the first change
            raise InterruptedError
        return run(words, **more)

    with kubernetes.started() as server:
        run = library.run
        with monkeypatch.context() as patch, pytest.raises(InterruptedError):
            patch.setattr(library, "run", killed)
            visit(server).drain(0, True)
        assert visit(server).look().places != {PLACE: "out"}
        assert visit(server).drain(0, True).places == {PLACE: "drained"}


def test_a_pod_that_stays_fails_the_drain_and_the_node_can_be_put_back(visit):
    with kubernetes.started(protected=True) as server:
        with pytest.raises(KupError, match="drain' for node1 ended with 1"):
            visit(server, timeout=1).drain(0, True)
        assert visit(server).look().places == {PLACE: "drained"}
        assert visit(server).undrain().places == {PLACE: "serving"}


def test_a_node_that_is_not_there_is_refused(visit):
    with kubernetes.started() as server, pytest.raises(KupError, match=r"get' for node9 ended with 1: .*not there"):
        visit(server, node="node9").look()


@pytest.mark.parametrize("node", ["", "-x", "--all", "a b", "Node1"])
def test_a_name_cannot_be_an_option(node):
    with pytest.raises(KupError, match="expected the name of a node"):
        library.Kubernetes(node, ["kubectl"], [], 0)
