# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checkpoints of several units: what is done to all before the next step begins, and what is refused."""

import contextlib
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _again as again
from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._criu import connection_lock, examination
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import checkpoints, disk_checkpoint, network_lock


@pytest.fixture
def created(node, record):
    found = checkpoints.create(record, "fake", 3)
    node.events.clear()
    return found


def listener(waiting=0):
    return types.SimpleNamespace(
        inode=7,
        protocol="tcp",
        local=("0.0.0.0", 11211),
        remote=("0.0.0.0", 0),
        listening=True,
        connected=False,
        waiting=waiting,
    )


def test_each_unit_has_a_directory_of_its_own(node, record, created):
    root = f"{record['IMAGES']}/{record['ID']}"
    assert [each.directory for each in created] == [f"{root}/3-a.service", f"{root}/3-b.service"]


def test_images_of_an_earlier_attempt_are_removed(node, record, created):
    for each in created:
        (node.directory / each.directory).mkdir(parents=True)
        (node.directory / each.directory / "pages-1.img").touch()
    checkpoints.create(record, "fake", 3)
    assert not any((node.directory / each.directory).exists() for each in created)


def test_every_unit_is_examined(node, record):
    checkpoints.create(record, "fake", 1)
    assert node.events == ["examine a", "examine b"]


def test_a_unit_that_cannot_be_moved_is_refused(node, record):
    node.unfit = {"b.service"}
    with pytest.raises(KupError, match=r"b\.service has a device open"):
        checkpoints.create(record, "fake", 1)


@pytest.mark.parametrize(
    ("phase", "code", "refused"),
    [
        ("checkpointing", "loopback-peer", True),
        ("probation", "loopback-peer", False),
        ("committed", "sysv-semaphores", False),
        ("probation", "protocol-on-tcp", True),
    ],
)
def test_what_is_only_lost_keeps_no_node_from_its_way_back(node, record, monkeypatch, phase, code, refused):
    blocker = Blocker(code, "", "is odd", "end it", "a.service")
    found = examination.Findings([blocker])
    monkeypatch.setattr(checkpoints.examination, "examine", lambda unit, carried, criu: found)
    record["PHASE"] = phase
    with pytest.raises(KupError, match="is odd") if refused else contextlib.nullcontext():
        checkpoints.create(record, "fake", 1)


def test_what_has_passed_a_moment_later_keeps_nobody(node, record, monkeypatch):
    busy = [examination.Findings([Blocker("connected-unix-socket", "", "asks D-Bus", "end it", "a.service")])]
    free = examination.Findings(lock="nftables")
    monkeypatch.setattr(checkpoints.examination, "examine", lambda unit, carried, criu: busy.pop() if busy else free)
    assert [each.findings for each in checkpoints.create(record, "fake", 1)] == [free, free]


def test_units_are_examined_together(node, record, monkeypatch):
    seen = []
    found = examination.Findings(lock="nftables")
    monkeypatch.setattr(checkpoints.examination, "examine", lambda unit, carried, criu: seen.append(carried) or found)
    checkpoints.create(record, "fake", 1)
    assert seen == [frozenset({"a.service", "b.service"})] * 2


def test_criu_is_asked_for_its_version_once(node, record, monkeypatch):
    asked, told = [], []
    monkeypatch.setattr(checkpoints.seen, "version", lambda: asked.append("criu") or "4.2.1")
    found = examination.Findings(lock="nftables")
    monkeypatch.setattr(checkpoints.examination, "examine", lambda unit, carried, criu: told.append(criu) or found)
    checkpoints.create(record, "fake", 1)
    assert (asked, told) == (["criu"], ["4.2.1"] * 2)


def test_the_network_lock_holds_the_control_group_of_a_unit_that_criu_does_not_lock(node, created, monkeypatch):
    texts = []
    monkeypatch.setattr(checkpoints.network_lock, "apply", texts.append)
    for each, lock in zip(created, (connection_lock.NONE, connection_lock.OWN), strict=True):
        each.findings = examination.Findings(lock=lock)
        each.unit.cgroup = f"/system.slice/{each.unit.name}"
    checkpoints.freeze(created)
    assert "a.service" in texts[0]
    assert "b.service" not in texts[0]


def test_a_unit_that_has_ended_is_refused(node, record):
    node.inactive = {"b.service"}
    with pytest.raises(KupError, match=r"b\.service is failed, expected active"):
        checkpoints.create(record, "fake", 1)


def test_copying_examines_again_what_had_time_to_change(node, created, monkeypatch):
    monkeypatch.setattr(again, "TRIES", 1)
    node.takes_time, node.unfit = True, {"a.service"}
    with pytest.raises(KupError, match="device open"):
        checkpoints.pre_copy(created)
    assert node.in_order("pre-copy 3-a", "pre-copy 3-b", "examine a")


def test_what_took_no_time_is_not_examined_again(node, created):
    checkpoints.pre_copy(created)
    assert node.events == ["pre-copy 3-a", "pre-copy 3-b"]


def test_no_dump_starts_before_all_copies_are_made_and_no_last_look_before_all_are_ready(node, created):
    checkpoints.start(created)
    assert node.events == [
        f"{step} 3-{unit}" for step in ("pre-copy again", "start", "ready", "before freeze") for unit in "ab"
    ]


def test_the_network_lock_holds_the_sockets_of_all_units(node, created, monkeypatch):
    applied = []
    monkeypatch.setattr(network_lock, "apply", applied.append)
    created[0].findings.sockets = [listener()]
    created[1].findings.sockets = [
        types.SimpleNamespace(**{**vars(listener()), "local": ("::", 53), "protocol": "udp"})
    ]
    checkpoints.freeze(created)
    assert "set tcp_ports {\n\t\ttype inet_service\n\t\telements = { 11211 }" in applied[0]
    assert "elements = { 53 }" in applied[0]


def test_connections_that_wait_at_a_listener_are_accepted_before_the_freeze(node, created, monkeypatch):
    asked, answers = [], [True, True, False]
    created[0].findings.sockets = [listener()]
    monkeypatch.setattr(checkpoints.inet_sockets, "waiting", lambda inodes: asked.append(inodes) or answers.pop(0))
    checkpoints.freeze(created)
    assert asked == [{7}] * 3
    assert node.in_order("lock packets", "freeze 3-a")


def test_an_application_that_does_not_accept_is_frozen_nevertheless(node, created, monkeypatch):
    monkeypatch.setattr(checkpoints, "_ACCEPTING", 0.02)
    monkeypatch.setattr(checkpoints.inet_sockets, "waiting", lambda inodes: True)
    checkpoints.freeze(created)
    assert "complete 3-b" in node.events


def test_the_frozen_trees_are_read_anew(node, created, monkeypatch):
    node.main_pids = {"a.service": 7, "b.service": 9}
    node.sockets = [listener()]
    sockets, threads = checkpoints.frozen(checkpoints.trees(created))
    assert (len(sockets), threads) == (2, [7, 8, 9, 10])


@pytest.mark.parametrize("error", [None, KupError("no"), KeyboardInterrupt()])
def test_after_a_disk_checkpoint_the_applications_run_on(node, record, error):
    record["PPP_DISK_CHECKPOINT"] = "fake"
    taken = disk_checkpoint.DiskCheckpoint(record, 1)
    if error:
        node.failing["complete 1-b"] = error
        with pytest.raises(type(error)):
            taken.take()
    else:
        taken.take()
        assert taken.statistics["a.service"].keys() == {"pages", "paused_s"}
    assert node.events[-3:] == ["resume 1-a", "resume 1-b", "release packets"]


def test_a_disk_checkpoint_is_copied_before_its_freeze_and_ends_connections(node, record):
    connection = types.SimpleNamespace(
        protocol="tcp", local=("10.0.0.1", 5), remote=("10.0.0.2", 6), listening=False, connected=True, waiting=0
    )
    node.sockets = [listener(), connection]
    record["PPP_DISK_CHECKPOINT"] = "fake"
    taken = disk_checkpoint.DiskCheckpoint(record, 1)
    taken.take()
    assert not any(each.keeps_connections for each in taken.checkpoints)
    assert node.in_order("pre-copy 1-b", "freeze 1-a", "plan 1 complete, 2 sockets, threads [100, 101, 100, 101]")


def test_a_sandbox_that_came_since_is_refused_before_a_dump_starts(node, created):
    node.sandboxed = True
    with pytest.raises(KupError, match="Landlock"):
        checkpoints.start(created)
    assert node.events == []


def frozen(node, created):
    checkpoints.start(created)
    node.events.clear()
    checkpoints.freeze(created)
    return node.events


def test_a_unit_with_requests_to_a_disk_stands_until_they_are_done_and_criu_stops_it_then(node, created):
    node.rings = True
    events = frozen(node, created)
    assert (
        events.index("lock packets")
        < events.index("stop 2")
        < events.index("disks are waited for")
        < events.index("freeze 3-a")
    )
    assert events.index("freeze 3-b") < events.index("let go 2")


def test_one_without_is_not_stopped_before(node, created):
    events = frozen(node, created)
    assert not {"stop 2", "disks are waited for", "let go 2"} & set(events)


@pytest.mark.parametrize("phase", ["checkpointing", "probation"])
def test_a_disk_that_does_not_answer_keeps_no_node_from_its_way_back(node, created, phase):
    node.rings, node.late = True, ["sda"]
    for each in created:
        each.settings = {**each.settings, "PHASE": phase}
    with pytest.raises(KupError, match="sda has not done") if phase == "checkpointing" else contextlib.nullcontext():
        frozen(node, created)


def test_no_new_client_comes_in_while_the_last_ones_arrive(node, record):
    node.sockets = [listener()]
    created = checkpoints.create(record, "fake", 3)
    node.events.clear()
    node.opening = [False, True, True]
    checkpoints.quiet(created)
    assert node.events == ["lock newcomers"]
    assert node.opening == []


def test_units_without_a_server_have_nobody_to_wait_for(node, created):
    checkpoints.quiet(created)
    assert node.events == []


@pytest.fixture
def serving(node, created, monkeypatch):
    """Two units that serve, and are about to be frozen; ``queues``: whether somebody waits for them, each time when that is asked."""
    queues = []
    monkeypatch.setattr(checkpoints.inet_sockets, "waiting", lambda inodes: bool(queues) and queues.pop(0))
    checkpoints.start(created)
    created[0].findings.sockets = [listener()]
    node.events.clear()
    return types.SimpleNamespace(created=created, queues=queues)


def test_what_is_closed_and_not_sent_is_sent_before_packets_are_held_for_good(node, serving):
    # Right before the units stand, one of them closes another connection.
    node.closing = [False, True]
    checkpoints.freeze(serving.created, is_last=True)
    assert node.closing == []
    assert node.in_order("stop 2", "lock packets", "freeze 3-a", "freeze 3-b", "let go 2")


def test_peers_are_told_to_wait_between_the_last_answer_and_the_lock(node, serving):
    checkpoints.freeze(serving.created, is_last=True, park=lambda: node.note("park"))
    assert node.in_order("stop 2", "park", "lock packets", "freeze 3-a")
    assert node.events.count("park") == 1


def test_nobody_waits_for_a_kernel_that_lives_on(node, serving):
    checkpoints.freeze(serving.created, park=lambda: node.note("park"))
    assert "park" not in node.events


def test_a_kernel_that_lives_on_keeps_what_is_closed(node, serving):
    checkpoints.freeze(serving.created)
    assert "stop 2" not in node.events
    assert node.in_order("lock packets", "freeze 3-a")


def test_who_comes_in_while_units_stand_is_accepted_behind_the_lock(node, serving):
    serving.queues += [False, True, True, False]
    for each in serving.created:
        each.unit.thaw = lambda: node.note("thaw")
    checkpoints.freeze(serving.created, is_last=True)
    assert serving.queues == []
    assert node.events[:5] == ["stop 2", "lock packets", "thaw", "thaw", "freeze 3-a"]
    assert "let go 2" not in node.events
