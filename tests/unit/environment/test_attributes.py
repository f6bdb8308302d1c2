"""Attributes that only a process itself can tell: who is asked, what is refused, and what the next boot sets."""

import os
import types

import pytest
from checkcases import Case, case_tests

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocked
from ansible_collections.kup.fleet.plugins.module_utils._environment import attributes

CASES = [
    ("landlock", Case(({"landlock": 1},), ({"mdwe": 1},), "the process", "is in a Landlock sandbox")),
    ("kernel-keys", Case(({"keys": 2},), ({"mdwe": 1},), "the process", "has keys (2) in the kernel")),
]

test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found = case_tests(
    "_environment.attribute_checks", cases=CASES
)


def process(pid, parent=1, threads=(), exists=True):
    return types.SimpleNamespace(
        pid=pid,
        name="worker",
        exists=exists,
        threads=list(threads) or [pid],
        status=lambda field: str(parent),
        path=f"/proc/{pid}",
        cgroup="/system.slice/a.service",
    )


@pytest.fixture
def program(monkeypatch):
    """What the program says, and how it is called."""
    calls, said = [], []

    def run(command):
        calls.append(command)
        return types.SimpleNamespace(stdout="".join(f"{line}\n" for line in said))

    monkeypatch.setattr(attributes, "run", run)
    return types.SimpleNamespace(calls=calls, said=said)


def test_all_processes_are_asked_at_once(program):
    program.said += ["7 mdwe 1", "9 landlock 1"]
    assert attributes.ask([process(7), process(8, exists=False), process(9)]) == {
        7: {"mdwe": 1},
        8: {},
        9: {"landlock": 1},
    }
    assert program.calls == [["/usr/local/lib/kup/fingerprint", "ask", "7", "9"]]


def test_nobody_is_asked_where_nobody_is(program):
    assert attributes.ask([]) == {}
    assert program.calls == []


def test_a_sandbox_that_nobody_can_make_again_is_refused():
    unit = types.SimpleNamespace(name="a.service", processes=[process(7), process(9)])
    attributes.refuse(unit, {7: {"mdwe": 1}})
    with pytest.raises(Blocked, match=r"^a\.service: process worker\[9\] the process is in a Landlock sandbox"):
        attributes.refuse(unit, {7: {}, 9: {"landlock": 1}})


@pytest.fixture
def outside(monkeypatch):
    """What can be read from outside: texts of files, and processors by thread."""
    texts = {
        "/proc/1/coredump_filter": "00000033\n",
        "/proc/1/timerslack_ns": "50000\n",
        "/sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-3,8\n",
    }
    processors, priorities = {}, {1: "0"}

    def read_affinity(thread):
        if thread not in processors:
            raise ProcessLookupError(thread)
        return processors[thread]

    def read_text(path, *default):
        if path not in texts and not default:
            raise ProcessLookupError(path)
        return texts.get(path, *default)

    def read_priority(thread):
        if thread not in priorities:
            raise ProcessLookupError(thread)
        return priorities[thread]

    monkeypatch.setattr(attributes, "read_text", read_text)
    monkeypatch.setitem(attributes._OF_THREADS, "io-priority", read_priority)
    monkeypatch.setattr(attributes.os, "sched_getaffinity", read_affinity)
    return types.SimpleNamespace(texts=texts, processors=processors, priorities=priorities)


def test_what_is_as_usual_has_no_line(outside):
    outside.texts["/proc/7/coredump_filter"] = "00000033\n"
    outside.processors.update({7: {0, 1, 2, 3, 8}})
    assert not list(attributes._from_outside([process(7, threads=[7, 8])]))


def test_what_is_not_as_usual_has_one(outside):
    outside.texts["/proc/9/coredump_filter"] = "0000003f\n"
    outside.processors.update({7: {0, 1, 2, 3, 8}, 9: {1}})
    assert list(attributes._from_outside([process(7), process(9)])) == [
        "9 coredump-filter 0000003f",
        "7 affinity 0-3,8",
        "9 affinity 1",
    ]


def test_threads_of_another_priority_or_slack(outside):
    outside.priorities.update({7: "0", 8: "24576"})
    outside.texts.update({f"/proc/{thread}/timerslack_ns": "50000\n" for thread in (7, 8)})
    assert list(attributes._from_outside([process(7, threads=[7, 8])])) == ["7 io-priority 0", "8 io-priority 24576"]
    outside.priorities[8] = "0"
    outside.texts["/proc/8/timerslack_ns"] = "1\n"
    assert list(attributes._from_outside([process(7, threads=[7, 8])])) == ["7 timer-slack 50000", "8 timer-slack 1"]


def test_what_is_asked_of_a_thread_itself():
    assert attributes._io_priority(os.getpid()) == "0"
    assert int(attributes._timer_slack(os.getpid())) > 0
    assert not list(attributes._from_outside([process(1 << 22)]))


def test_without_a_controller_the_processors_are_those_of_systemd(outside):
    del outside.texts["/sys/fs/cgroup/system.slice/cpuset.cpus.effective"]
    outside.processors.update({1: {0, 1}, 7: {0, 1}})
    assert not list(attributes._from_outside([process(7)]))


def test_lines_of_a_unit(monkeypatch, outside):
    signals = {"/images/core-7.img": 15, "/images/core-8.img": 0, "/images/core-9.img": 9}
    monkeypatch.setattr(attributes, "take_death_signal", signals.pop)
    found = {7: {"mdwe": 1, "mce-kill": 1}, 20: {}}
    # The last three have been made since the others were asked.
    tree = [process(7, threads=[7, 8, 9]), process(20), process(21, parent=7), process(22, parent=21), process(23, 5)]
    assert attributes.lines(found, tree, 7, "/images") == [
        "7 mce-kill 1",
        "7 mdwe 1",
        "21 mce-kill 1",
        "21 mdwe 1",
        "22 mce-kill 1",
        "22 mdwe 1",
        "7 pdeathsig 15",
        "9 pdeathsig 9",
    ]
    assert not signals  # those of children stay: their parents are there when CRIU restores them


def test_what_this_criu_puts_back_is_not_set_once_more(monkeypatch):
    monkeypatch.setattr(attributes, "_from_outside", lambda processes: [])
    monkeypatch.setattr(attributes, "take_death_signal", lambda path: 0)
    found = {7: {"mdwe": 1, "membarrier": 0}}
    assert attributes.lines(found, [process(7)], 7, "/images") == ["7 mdwe 1"]
    forgets = frozenset({"membarrier"})
    assert attributes.lines(found, [process(7)], 7, "/images", forgets) == ["7 mdwe 1", "7 membarrier 0"]


def test_what_an_old_criu_forgets_is_recorded_from_outside(monkeypatch):
    fields = {"THP_enabled": "0", "PPid": "1"}
    one = process(7, threads=[7, 8, 9])
    one.status = fields.get
    texts = {
        "/proc/7/status": "Name:\ta\nNoNewPrivs:\t1\nSeccomp:\t0\n",
        "/proc/8/status": "Name:\ta\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000004001\nNoNewPrivs:\t0\n",
        "/proc/9/status": "Name:\ta\nNoNewPrivs:\t1\n",
    }
    monkeypatch.setattr(attributes, "read_text", texts.get)
    lost = ["7 thp-disable 1", "7 no-new-privs 1", "8 ambient 0", "8 ambient 14", "9 no-new-privs 1"]
    assert list(attributes._forgotten([one])) == lost
    monkeypatch.setattr(attributes, "_from_outside", lambda processes: [])
    monkeypatch.setattr(attributes, "take_death_signal", lambda path: 0)
    assert attributes.lines({7: {}}, [one], 7, "/images", forgets=frozenset({"ambient", "wipe-on-fork"})) == lost
    assert attributes.lines({7: {}}, [one], 7, "/images", forgets=frozenset({"wipe-on-fork"})) == []
