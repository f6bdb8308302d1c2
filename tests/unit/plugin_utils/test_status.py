# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all nodes need, as a table and as metrics."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _status
from tests.exposition import parse

STATUS = {
    "looked": 1795747856.4,
    "distribution": {"name": "Debian GNU/Linux 13 (trixie)", "refusal": ""},
    "kernel": {
        **{"running": "7.2.9-amd64", "installed": "7.2.9-amd64", "available": "7.2.12-amd64", "target": "7.2.12-amd64"},
        **{"built": None, "uptime_s": 90000.0, "needs_update": False},
    },
    "last_update": {"phase": "", "reason": "", "data": "", "fresh_units": []},
    "leftovers": [],
    "preserved": [],
    "drained": [],
    "reboot": {"required": False, "packages": [], "microcode": False},
    "microcode": {"running": "", "available": "", "is_newer": False},
    "libraries": {"units": [], "complete": True},
    "livepatches": [],
}
REFUSAL = "The distribution Rocky Linux 9.4 is one on which nobody has tried an update; go."
UNIT = {"unit": "nginx.service", "count": 2, "files": ["libc.so.6", "libssl.so.3"]}


def of(**changes):
    """A result with a `STATUS` of which parts are changed."""
    status = copy.deepcopy(STATUS)
    for part, change in changes.items():
        status[part] = {**status[part], **change} if isinstance(change, dict) else change
    return {"status": status}


NODES = {
    "ready": of(),
    "restart": of(libraries={"units": [UNIT]}),
    "reboot": of(reboot={"required": True, "packages": ["libc6"]}, libraries={"units": [UNIT]}),
    "microcode": of(microcode={"running": "0x1", "available": "0x2", "is_newer": True}),
    "update": of(kernel={"needs_update": True}, reboot={"required": True}),
    "probation": of(kernel={"needs_update": True}, last_update={"phase": "probation"}),
    "failed": of(last_update={"phase": "failed", "reason": "no restore"}),
    "unknown": of(kernel={"needs_update": None, "target": ""}),
    "down": {"failed": False, "msg": "down cannot be reached: No route to host"},
    "gone": None,
}


def line(node, **changes):
    (found,) = _status.rows({node: of(**changes)})
    return _status.table([found])[1]


def test_the_neediest_are_first_and_the_others_in_order():
    rows = _status.rows(NODES)
    assert [(row["name"], row["needs"]) for row in rows] == [
        ("unknown", "look"),
        ("down", "look"),
        ("gone", "look"),
        ("probation", "decision"),
        ("failed", "decision"),
        ("update", "update"),
        ("reboot", "reboot"),
        ("microcode", "reboot"),
        ("restart", "restart"),
        ("ready", "nothing"),
    ]
    table = _status.table(rows)
    assert len(table) == len(NODES) + 2
    assert table[-1] == "needs: 3 look, 2 decision, 1 update, 2 reboot, 1 restart, 1 nothing"


def test_every_need_is_explained():
    assert {row["needs"] for row in _status.rows(NODES)} == set(_status.NEEDS)


@pytest.mark.parametrize("phase", ["prepared", "committed", "fell_back", "aborted"])
def test_a_phase_in_which_nobody_has_to_do_anything(phase):
    assert _status.rows({"node1": of(last_update={"phase": phase})})[0]["needs"] == "nothing"


def test_a_line_says_all_of_a_node():
    found = line(
        "node1",
        kernel={"needs_update": True},
        last_update={
            "phase": "fell_back",
            "reason": "Port 1\nis silent",
            "data": "partial",
            "fresh_units": ["a.service"],
        },
        libraries={"units": [UNIT], "complete": False},
        reboot={"required": True, "packages": ["libc6", "dbus"]},
        microcode={"running": "0x1", "available": "0x2", "is_newer": True},
        livepatches=[
            {"name": "lkp", "enabled": True, "transition": True},
            {"name": "old", "enabled": False, "transition": False},
        ],
        leftovers=["/var/lib/kup/panic.log"],
        preserved=["7.2.9-amd64", "7.2.1-amd64"],
        drained=["haproxy lb1 cache/node1"],
    )
    assert " ".join(found.split()) == (
        "node1 update 7.2.9-amd64 -> 7.2.12-amd64 1 d fell back Port 1 is silent; a.service started fresh; reboot for libc6, dbus; microcode 0x1 -> 0x2; "
        "old code in nginx.service (libc.so.6, ...); not every process was looked at for old code; live patches: lkp (in transition), "
        "old (off); left over: /var/lib/kup/panic.log; preserved: 7.2.1-amd64; drained: haproxy lb1 cache/node1"
    )


def test_a_node_of_another_distribution_has_one_sentence_and_nothing_that_looks_right():
    (row,) = _status.rows({"node1": of(distribution={"refusal": REFUSAL}, kernel={"needs_update": None})})
    assert (row["needs"], row["reason"]) == ("look", REFUSAL)
    assert _status.table([row])[1].endswith(f"never        {REFUSAL}")
    assert "kup_update_needed" not in parse(_status.metrics([row]))


def test_a_long_list_has_an_end():
    assert "p0, p1, p2, p3, p4 and 95 more" in line(
        "node1", reboot={"required": True, "packages": [f"p{number}" for number in range(100)]}
    )


STRANGE = [
    {"status": "yes"},
    {"status": {"kernel": {}}},
    of(kernel={"uptime_s": "1\nkup_evil 2"}),
    of(kernel={"uptime_s": None}),
    of(kernel={"needs_update": "x", "running": None}),
    of(kernel=[]),
    of(libraries={"units": [{"unit": "a"}]}),
    of(libraries={"units": 7}),
    of(livepatches=[1]),
    of(last_update={"phase": 7}),
    of(distribution={"refusal": 7}),
    of(distribution={"refusal": {"a": 1}}),
]


@pytest.mark.parametrize("answer", STRANGE)
def test_what_no_good_node_says_hides_no_other_node(answer):
    rows = _status.rows({"evil": answer, "ready": of()})
    assert [(row["name"], row["needs"]) for row in rows] == [("evil", "look"), ("ready", "nothing")]
    assert "is not what kup_status gives" in rows[0]["reason"]
    assert parse(_status.metrics(rows))["kup_status_known"] == {(("node", "evil"),): 0.0, (("node", "ready"),): 1.0}


def test_no_text_of_a_node_moves_the_cursor_or_makes_a_metric():
    evil = '\x1b[2J"} 1\nkup_evil 2'
    unit = {"unit": evil, "count": 1, "files": [evil]}
    rows = _status.rows(
        {"evil": of(kernel={"running": evil}, last_update={"reason": evil}, libraries={"units": [unit] * 1000})}
    )
    assert all(text.isprintable() for text in _status.table(rows))
    assert "kup_evil" not in parse(_status.metrics(rows))
    assert len(_status.metrics(rows).splitlines()) < 100


def others(*found):
    return {"time": 5.5, "nodes": list(found)}


def test_nodes_that_were_not_looked_at_stay_with_their_time():
    before = others(*_status.rows({"ready": of(), "update": NODES["update"], "gone": None, "away": of()}))
    now = _status.rows({"ready": NODES["restart"]})
    written = _status.merged(now, 7.5, before, {"ready", "update", "gone"}.__contains__)
    assert written["time"] == 7.5
    assert [(row["name"], row["needs"], row["time"]) for row in written["nodes"]] == [
        ("gone", "look", 5.5),
        ("update", "update", 5.5),
        ("ready", "restart", 7.5),
    ]
    later = _status.merged(_status.rows({"update": of()}), 9.5, written, {"ready", "update"}.__contains__)
    assert {row["name"]: row["time"] for row in later["nodes"]} == {"ready": 7.5, "update": 9.5}
    assert {dict(labels)["node"] for labels in parse(_status.metrics(later["nodes"]))["kup_update_needed"]} == {
        "ready",
        "update",
    }


@pytest.mark.parametrize(
    "row",
    [
        7,
        {},
        {"name": "b", "needs": "sleep", "reason": "", "status": None},
        {"name": ["b"], "needs": "look", "reason": "", "status": None},
        {"name": "b", "needs": "look", "reason": "", "status": {"kernel": {}}},
    ],
)
def test_a_row_of_another_version_hides_no_other(row):
    before = others(row, *_status.rows({"c": of()}))
    written = _status.merged(_status.rows({"a": of()}), 7.5, before, lambda name: True)
    assert [each["name"] for each in written["nodes"]] == ["a", "c"]


def test_metrics_of_all_nodes():
    found = parse(_status.metrics(_status.rows(NODES)))
    needs = {dict(labels)["node"]: dict(labels)["need"] for labels, value in found["kup_needs"].items() if value}
    assert needs == {row["name"]: row["needs"] for row in _status.rows(NODES)}
    assert len(found["kup_needs"]) == len(NODES) * len(_status.NEEDS)
    assert found["kup_update_needed"][(("node", "update"),)] == 1.0
    assert (("node", "down"),) not in found["kup_update_needed"]
