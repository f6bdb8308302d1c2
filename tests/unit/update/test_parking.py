# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which peers are told to wait, when, and what is undone where the switch is given up."""

from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import fingerprint, network_lock, parking

NEAR = (
    "kup-fingerprint 3",
    "near 7 4 120 x0a630001 7001 x0a630002 20000",
    "near 8 5 90 xfd990000000000000000000000000001 7002 xfd990000000000000000000000000002 20001",
)
RULES = (
    "ip saddr . tcp sport . ip daddr . tcp dport @ip_tcp tcp window set 0",
    "ip6 saddr . tcp sport . ip6 daddr . tcp dport @ip6_tcp tcp window set 0",
)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """What was done, in order; the program does what ``node.code`` says."""
    done = tmp_path / "done"
    program = tmp_path / "fingerprint"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{done}\n[ "$1" != near ] || cat {tmp_path}/list\n[ "$1" != park ] || . {tmp_path}/code\n'
    )
    program.chmod(0o755)
    (tmp_path / "code").write_text("")
    (tmp_path / "list").write_text("\n".join(NEAR) + "\n")
    monkeypatch.setattr(fingerprint, "PROGRAM", str(program))
    monkeypatch.setattr(parking, "_LIST", str(tmp_path / "near"))
    monkeypatch.setattr(parking, "_TOLD", str(tmp_path / "parked"))
    monkeypatch.setattr(
        parking.processes, "in_cgroup", lambda _cgroup: [SimpleNamespace(pid=7), SimpleNamespace(pid=8)]
    )

    def nft(argv, stdin="", **more):
        assert "window" not in (stdin or "") or more["timeout"] == parking._PATIENCE  # the applications stand still
        rules = [line.strip() for line in (stdin or "").splitlines() if "window" in line]
        with done.open("a") as stream:
            stream.write(" ".join(argv) + "\n" + "".join(f"{rule}\n" for rule in rules))

    monkeypatch.setattr(network_lock, "run", nft)
    return tmp_path


def events(node):
    done = node / "done"
    return done.read_text().splitlines() if done.exists() else []


def looked(wanted=True):
    one = parking.Parking(wanted)
    one.look([SimpleNamespace(cgroup="/system.slice/a.service")])
    return one


def test_near_peers_and_no_others_hear_of_no_room_before_they_are_told(node):
    looked().begin()
    assert events(node) == ["near 7 8", "nft -f -", *RULES, f"park {node}/near"]
    assert [(node / name).stat().st_mode & 0o777 for name in ("near", "parked")] == [0o600, 0o600]


def test_where_the_switch_is_given_up_those_who_were_told_hear_of_it(node):
    (node / "code").write_text("echo parked")
    one = looked()
    one.begin()
    assert (node / "parked").read_text() == "parked\n"
    one.undo()
    one.go_on()
    assert events(node)[-2:] == ["nft delete table inet kup_parked", f"go-on {node}/parked"]
    assert not (node / "parked").exists()


def test_where_nobody_was_told_nobody_hears_of_it(node):
    one = looked()
    one.undo()
    one.go_on()
    assert events(node) == ["near 7 8", "nft delete table inet kup_parked"]


def test_a_program_that_hangs_does_not_keep_the_applications_standing(node, monkeypatch, capsys):
    monkeypatch.setattr(parking, "_PATIENCE", 0.2)
    (node / "code").write_text("exec sleep 60")
    looked().begin()
    assert "park did not end within 0.2 s" in capsys.readouterr().out


def test_where_nobody_wants_it_nothing_is_done(node):
    one = looked(wanted=False)
    one.begin()
    one.undo()
    one.go_on()
    assert events(node) == []


def test_without_near_peers_the_freeze_is_no_longer(node):
    (node / "list").write_text(NEAR[0] + "\n")
    one = looked()
    one.begin()
    one.undo()
    assert events(node) == ["near 7 8"]


@pytest.mark.parametrize("code", ["echo 'A peer is odd.' >&2; exit 1", "exit 3"])
def test_peers_that_cannot_be_told_keep_no_node_from_its_switch(node, capsys, code):
    (node / "code").write_text(code)
    one = looked()
    one.begin()
    one.undo()
    assert (
        "Not all peers were told to wait: " + ("A peer is odd." if "odd" in code else "exit code 3")
        in capsys.readouterr().out
    )
    assert "nft delete table inet kup_parked" in events(node)


@pytest.mark.parametrize(
    "line", ["near 7 4 120 x0a63 7001 x0a630002 20000", "near 7 4 120 x0a630001 7001", "near 7 4 120 x y x z"]
)
def test_a_list_that_cannot_be_read_keeps_no_node_from_its_switch(node, capsys, line):
    (node / "list").write_text(f"{NEAR[0]}\n{line}\n")
    looked().begin()
    assert events(node) == ["near 7 8"]
    assert "Not all peers were told to wait: " in capsys.readouterr().out


def test_a_filter_that_refuses_the_rules_keeps_no_node_from_its_switch(node, capsys, monkeypatch):
    def refused(_text, **_more):
        raise KupError("'nft -f -' ended with 1: no such thing")

    one = looked()
    monkeypatch.setattr(network_lock, "apply", refused)
    one.begin()
    # A window of zero that the kernel's next segment takes back would help nobody.
    assert events(node) == ["near 7 8"]
    assert "no such thing" in capsys.readouterr().out
