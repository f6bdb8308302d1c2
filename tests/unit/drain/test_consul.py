"""Maintenance mode of Consul, with a stand-in for its agent."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import consul as library
from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from tests.balancers import consul, free_port

NODE, SERVICE = "consul node1 node", "consul node1 service cache-1"


@pytest.fixture
def agent():
    with consul.started() as found:
        yield found


def visit(agent, services=(), token="secret"):
    made = library.Consul(consul.address(agent), list(services), token)
    return Visit(made, "consul", "node1", [NODE, SERVICE])


@pytest.mark.parametrize(
    ("services", "place", "check"),
    [((), NODE, "_node_maintenance"), (["cache-1"], SERVICE, "_service_maintenance:cache-1")],
)
def test_maintenance_begins_and_ends(agent, services, place, check):
    for _each in range(2):
        assert visit(agent, services).drain(0, True).places == {place: "drained"}
    assert {name: about["Notes"] for name, about in agent.checks.items()} == {check: "kup: kernel update"}
    for _each in range(2):
        assert visit(agent, services).undrain().places == {place: "serving"}
    assert agent.checks == {}


def test_maintenance_of_others_stays(agent):
    agent.checks["_node_maintenance"] = {"Notes": "disk is full"}
    for answer in (visit(agent).drain(0, True), visit(agent).undrain()):
        assert (answer.changed, answer.places) == (False, {NODE: "out"})
    assert agent.checks == {"_node_maintenance": {"Notes": "disk is full"}}


def test_what_the_agent_refuses_is_said(agent):
    with pytest.raises(KupError, match=r"answers 403 to GET /v1/agent/checks: 'Permission denied'"):
        visit(agent, token="").look()
    with pytest.raises(KupError, match=r"has no service with the id cache-2"):
        visit(agent, ["cache-2"]).look()


def test_an_agent_gets_time_to_start_and_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(library, "_START", 0.1)
    with pytest.raises(KupError, match=r"does not answer GET /v1/agent/checks: .*refused"):
        library.Consul(f"http://127.0.0.1:{free_port()}", [], "").look()


@pytest.mark.parametrize("address", ["", "127.0.0.1:8500", "unix:///run/consul.sock", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(KupError, match="expected one such as http://127.0.0.1:8500"):
        library.Consul(address, [], "")
