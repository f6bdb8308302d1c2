# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a node is drained, and when it is put back: the real playbook and a real HAProxy, with nodes of a table.

Each case is a node with two servers. What a rollout that was killed has left is the record of the node, and the states of its servers.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import atonce
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import haproxy as library
from tests.balancers import haproxy
from tests.rollout.answers import NEW
from tests.rollout.nodes import Done, Rollout

BOTH = ("drain", "drain")
ON_PROBATION = {"kernel": NEW, "phase": "probation"}
GATE_FAILS = {"kup_gate judge": {"answer": {"failed": True, "msg": "Port 11211 does not answer."}}}
NO_NUMBER = {"kup_gate remember": {"answer": {"failed": True, "msg": "No number."}}}
RECORD = {"phase": "probation", "kernel_old": "6.12", "engine": "foam", "fresh_units": ["a.service"], "stopped_by": []}
LOST_STATE = {"kup_switch status": {"answer": {"record": {**RECORD, "reason": "No room."}}}}
# What a rollout left drained on purpose.
BROKEN = {"state": {"kernel": NEW}, "left": "partial"}


@dataclass(frozen=True)
class Case:
    """``node``: what the table has of it; ``drained``: whether it has a record of an earlier rollout; ``before``: states of its servers in
    HAProxy; ``result``, ``after``: what they come to; ``variables``: those of the node alone.
    """

    result: str
    after: tuple
    node: dict = field(default_factory=dict)
    drained: bool = False
    before: tuple = ()
    variables: dict = field(default_factory=dict)


SERVES, DRAINED = ("serving", "serving"), ("drained", "drained")
CASES = {
    "committed": Case("committed", SERVES),
    "fell-back": Case("fell_back", SERVES, GATE_FAILS),
    "lost": Case("lost", DRAINED, {"kup_switch start": {"gone": True}}, variables={"kup_switch_timeout": 1}),
    "partial": Case("partial", DRAINED, LOST_STATE),
    "of-others": Case("committed", ("out", "drained"), before=("maint", "drain")),
    "not-switched": Case("failed", SERVES, NO_NUMBER),
    "killed-drained": Case("committed", SERVES, {}, True, BOTH),
    # Between the record and the balancer.
    "killed-recorded": Case("committed", SERVES, {}, True),
    "killed-on-probation": Case("committed", SERVES, {"state": ON_PROBATION}, True, BOTH),
    "killed-committed": Case("up_to_date", SERVES, {"state": {"kernel": NEW}}, True, BOTH),
    "left-and-up-to-date": Case("up_to_date", DRAINED, BROKEN, True, BOTH),
    "left-and-committed": Case("committed", SERVES, {"left": "failed"}, True, BOTH),
    "no-balancer-now": Case("up_to_date", DRAINED, {"state": {"kernel": NEW}}, True, BOTH, {"kup_drain": []}),
    "balancer-down": Case("failed", SERVES, variables={"kup_drain_haproxy_hosts": ["down"]}),
    "no-socket": Case("failed", SERVES, variables={"kup_drain_haproxy_socket": "/nowhere/admin.sock"}),
}


def places(name):
    return [f"haproxy localhost {server}" for server in servers(name)]


def servers(name):
    return [f"cache/{name}", f"other/{name}"]


@dataclass(frozen=True)
class Ended:
    """``done``: the run; ``states``: of all servers of HAProxy."""

    done: Done
    states: dict
    folder: Path

    def recorded(self, name):
        path = self.folder / f"nodes/{name}.drained"
        return json.loads(path.read_text()) if path.exists() else {"places": [], "left": ""}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Dict case → the rollout that it was in, at its end. Two rollouts have half of the cases each."""

    def roll_out(half):
        return rolled_out({name: CASES[name] for name in half}, tmp_path_factory.mktemp("drain"))

    names = tuple(CASES)
    found = atonce.each(roll_out, (names[::2], names[1::2]))
    return {name: one for half, one in found.items() for name in half}


def rolled_out(cases, folder):
    nodes = {name: {**case.node, "drained": places(name) if case.drained else []} for name, case in cases.items()}
    nodes["down"] = {"down": True}
    groups = {f"of_{name.replace('-', '_')}": {"hosts": [name], "vars": case.variables} for name, case in cases.items()}
    with haproxy.started(folder, cases) as balancer:
        for name, case in cases.items():
            for server, state in zip(servers(name), case.before, strict=False):
                balancer.set(server, state)
        about = {"kup_drain": ["haproxy"], "kup_drain_haproxy_hosts": ["localhost"]}
        groups["all_cases"] = {"hosts": list(cases), "vars": {**about, "kup_drain_haproxy_socket": balancer.socket}}
        (folder / "hook.yml").write_text(json.dumps(look(balancer.socket, folder)))
        done = Rollout(folder, nodes, groups).run(
            kup_kernel="7.2",
            kup_units=["memcached.service"],
            kup_batches=["100%"],
            kup_max_failed="100%",
            kup_max_unreachable=1,
            kup_hooks={"before_switch": str(folder / "hook.yml")},
        )
        return Ended(done, balancer.states(), folder)


def look(socket, folder):
    """The hook before_switch: writes down the states of the servers as they are then."""
    program = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.sendall(b'show servers state\\n'); open(sys.argv[2], 'w').write(s.makefile().read())"
    )
    words = [sys.executable, "-c", program, socket, f"{folder}/{{{{ inventory_hostname }}}}"]
    return [{"ansible.builtin.command": {"argv": words}, "delegate_to": "localhost"}]


@pytest.mark.parametrize("name", CASES)
def test_only_a_node_in_order_gets_traffic_again(ended, name):
    done, states = ended[name].done, ended[name].states
    assert done.results[name] == CASES[name].result, done.output
    assert tuple(states[server] for server in servers(name)) == CASES[name].after, done.output


@pytest.mark.parametrize("name", ["committed", "fell-back", "killed-drained", "killed-recorded", "left-and-committed"])
def test_it_is_drained_before_its_switch(ended, name):
    found = library.server_states((ended[name].folder / name).read_text())
    assert [found[server] for server in servers(name)] == list(DRAINED)
    assert found["cache/node2"] == "serving"


def test_a_node_that_needs_no_update_is_in_service_again_before_others_are_switched(ended):
    folder = ended["killed-committed"].folder
    looks = [folder / name for name in CASES if (folder / name).exists()]
    assert looks
    for one in looks:
        found = library.server_states(one.read_text())
        assert [found[server] for server in servers("killed-committed")] == list(SERVES), one.name


@pytest.mark.parametrize(
    ("name", "left"),
    [("lost", ""), ("partial", "partial"), ("left-and-up-to-date", "partial"), ("no-balancer-now", "")],
)
def test_what_stays_drained_is_said_and_remembered(ended, name, left):
    assert f"stays drained at {', '.join(places(name))}" in ended[name].done.reason(name)
    assert ended[name].recorded(name) == {"places": places(name), "left": left}


def test_what_is_in_service_again_is_forgotten(ended):
    for name, case in CASES.items():
        if case.after == SERVES:
            assert ended[name].recorded(name)["places"] == [], name
            assert "stays drained" not in (ended[name].done.reason(name) or ""), name


def test_what_others_took_out_of_service_is_said(ended):
    said = ended["of-others"].done.said
    assert f"of-others: {', '.join(places('of-others'))} gets no traffic already, and stays so." in said


def test_a_balancer_that_is_down_is_no_node_that_is_lost(ended):
    done = ended["balancer-down"].done
    assert done.reason("balancer-down") == "down cannot be reached: No route to host"
    assert done.report["rollout"]["unreachable"] == ["down"]


def test_a_balancer_that_does_not_answer_is_found_before_the_node_is_changed(ended):
    done = ended["no-socket"].done
    assert "localhost: HAProxy's socket /nowhere/admin.sock does not answer" in done.reason("no-socket")
    assert {line.split()[1] for line in done.asked if line.startswith("no-socket ")} == {"kup_preflight", "kup_commit"}


def test_a_repaired_node_is_put_back_by_hand(tmp_path):
    nodes = {name: {"drained": places(name), "left": "failed"} for name in ("repaired", "not-asked-for")}
    groups = {"of_one": {"hosts": ["not-asked-for"], "vars": {"kup_drain": []}}}
    with haproxy.started(tmp_path, nodes) as balancer:
        for server in [server for name in nodes for server in servers(name)]:
            balancer.set(server, "drain")
        about = {"kup_drain": ["haproxy"], "kup_drain_haproxy_hosts": ["localhost"]}
        groups["both"] = {"hosts": list(nodes), "vars": {**about, "kup_drain_haproxy_socket": balancer.socket}}
        done = Rollout(tmp_path, nodes, groups).run(playbook="kup_undrain")
        states = balancer.states()
    assert [states[server] for server in servers("repaired")] == list(SERVES), done.output
    assert [states[server] for server in servers("not-asked-for")] == list(DRAINED)
    assert done.code == 2
    assert "not-asked-for stays drained at " in done.said
    assert {line.split()[1] for line in done.asked} == {"kup_drain_record"}
