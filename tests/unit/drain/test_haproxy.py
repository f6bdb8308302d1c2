"""HAProxy as Debian has it, with traffic."""

import socket

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._drain.haproxy import HAProxy, open_sessions, server_states
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from tests.balancers import answering, haproxy, who

ONE, OTHER = "haproxy lb1 cache/node1", "haproxy lb1 other/node1"


@pytest.fixture(scope="module")
def balancer(tmp_path_factory):
    with haproxy.started(tmp_path_factory.mktemp("haproxy")) as found:
        yield found


@pytest.fixture(autouse=True)
def in_service(balancer):
    yield
    for server in ("cache/node1", "other/node1"):
        balancer.set(server, "ready")


def visit(balancer, *recorded, servers=(), server="node1"):
    return Visit(HAProxy(balancer.socket, list(servers), server), "haproxy", "lb1", recorded)


def test_a_drained_server_gets_no_new_connections_and_keeps_its_old_ones(balancer):
    connections = [socket.create_connection(("127.0.0.1", balancer.port), timeout=5) for _each in range(2)]
    old = next(each for each in connections if who(each) == b"1")
    answer = visit(balancer, ONE).drain(0, True)
    assert (answer.changed, answer.places) == (True, {ONE: "drained"})
    assert answering(balancer.port) == {b"2"}
    assert who(old) == b"1"
    assert visit(balancer, ONE).undrain().places == {ONE: "serving"}
    assert answering(balancer.port) == {b"1", b"2"}
    for each in connections:
        each.close()


def test_its_servers_are_those_of_its_name_or_those_that_are_named(balancer):
    assert visit(balancer).look().places == {ONE: "serving", OTHER: "serving"}
    assert visit(balancer, servers=["other/node1"]).look().places == {OTHER: "serving"}


def test_only_what_is_recorded_is_changed(balancer):
    assert visit(balancer, ONE, "haproxy lb2 other/node1", "nginx lb1 other/node1").drain(0, True).places == {
        ONE: "drained"
    }
    assert balancer.states()["other/node1"] == "serving"
    assert visit(balancer).undrain().places == {}
    assert balancer.states()["cache/node1"] == "drained"


@pytest.mark.parametrize("named", ["haproxy lb1 cache/node2", "haproxy lb1 cache/../x", "haproxy lb1 "])
def test_a_record_cannot_name_what_is_not_the_nodes(balancer, named):
    """The node writes the record."""
    assert visit(balancer, named).drain(0, True).places == {}
    assert balancer.states()["cache/node2"] == "serving"


def test_what_others_took_out_of_service_stays_so(balancer):
    balancer.set("cache/node1", "maint")
    assert visit(balancer).look().places[ONE] == "out"
    for answer in (visit(balancer, ONE).drain(0, True), visit(balancer, ONE).undrain()):
        assert (answer.changed, answer.places) == (False, {ONE: "out"})
        assert answer.notes == [f"{ONE} was taken out of service by others and stays so."]
    assert balancer.states()["cache/node1"] == "out"


def test_both_may_be_said_twice(balancer):
    for _each in range(2):
        assert visit(balancer, ONE).drain(0, True).places == {ONE: "drained"}
    for _each in range(2):
        assert visit(balancer, ONE).undrain().places == {ONE: "serving"}


def test_nothing_is_changed_in_check_mode(balancer):
    answer = visit(balancer, ONE).drain(0, True, dry=True)
    assert (answer.changed, answer.places) == (True, {ONE: "drained"})
    assert balancer.states()["cache/node1"] == "serving"


def test_sessions_get_some_time(balancer):
    connections = [socket.create_connection(("127.0.0.1", balancer.port), timeout=5) for _each in range(2)]
    assert {who(each) for each in connections} == {b"1", b"2"}
    sentence = f"{ONE.removesuffix('cache/node1')}cache/node1 has 1 open sessions after 1 s (kup_drain_wait)."
    assert visit(balancer, ONE).drain(1, True).notes == [sentence]
    with pytest.raises(KupError, match="has 1 open sessions after 1 s"):
        visit(balancer, ONE).drain(1, False)
    for each in connections:
        each.close()
    assert visit(balancer, ONE).drain(20, False).notes == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"server": "node9"}, "has no server node9, expected one for the node"),
        ({"servers": ["cache/node9"]}, "has no server cache/node9"),
        ({"servers": ["node1"]}, "has the element 'node1', expected BACKEND/SERVER"),
        ({"servers": ["cache/node1; shutdown"]}, "expected BACKEND/SERVER"),
    ],
)
def test_a_server_that_is_not_there_is_refused(balancer, given, says):
    with pytest.raises(KupError, match=says):
        visit(balancer, **given).look()


def test_a_socket_needs_the_right_to_change(balancer, tmp_path):
    user = Visit(HAProxy(f"{balancer.socket}.user", [], "node1"), "haproxy", "lb1", [ONE])
    with pytest.raises(KupError, match="its socket needs 'level admin'"):
        user.drain(0, True)
    with pytest.raises(KupError, match="does not answer"):
        Visit(HAProxy(str(tmp_path / "none"), [], "node1"), "haproxy", "lb1").look()


HEADER = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight\n"


@pytest.mark.parametrize(
    ("bits", "state"), [(0, "serving"), (8, "drained"), (1, "out"), (9, "out"), (16, "out"), (32, "out")]
)
def test_states(bits, state):
    assert server_states(f"{HEADER}3 cache 1 node1 127.0.0.1 2 {bits} 1\n\n") == {"cache/node1": state}


@pytest.mark.parametrize("text", ["", "1\n", "Hello\n", HEADER + "3 cache\n", HEADER + "3 cache 1 node1 a 2 x 1\n"])
def test_what_is_no_table_is_refused(text):
    with pytest.raises(KupError, match="begins with .* expected a table"):
        server_states(text)


def test_sessions_of_other_servers_do_not_count():
    text = "# pxname,svname,qcur,scur,x\ncache,FRONTEND,,3,\ncache,node1,0,2,\ncache,node2,0,5,\nother,node1,0,,\n"
    assert open_sessions(text, ["cache/node1", "other/node1"]) == 2
