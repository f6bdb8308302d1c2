"""Network links, as the next boot makes them."""

from ansible_collections.kup.fleet.plugins.module_utils._system import network


def test_a_gateway_is_reached_before_what_is_behind_it(monkeypatch):
    monkeypatch.setattr(network, "read_text", lambda *arguments: "1500")
    monkeypatch.setattr(network, "_addresses", lambda name: [])
    monkeypatch.setattr(network, "_routes", lambda name: ["default via 10.0.0.1", "10.0.0.1 scope link"])
    routes = [command for command in network.Link("ens3").commands if command.startswith("route")]
    assert routes == ["route replace 10.0.0.1 scope link dev ens3", "route replace default via 10.0.0.1 dev ens3"]
