# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node whose tools, engine and applications only note what happens to them."""

import os
import time
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _again as again
from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._boot import (
    crash_kernel,
    first_process,
    grub,
    kernels,
    kexec,
    panic,
)
from ansible_collections.kup.fleet.plugins.module_utils._criu.examination import Findings
from ansible_collections.kup.fleet.plugins.module_utils._engines import base, pending_memory, registry
from ansible_collections.kup.fleet.plugins.module_utils._update import (
    boot_plan,
    checkpoints,
    commit,
    fingerprint,
    gate,
    leftovers,
    network_lock,
    packages_lock,
    pairs,
    staging,
    switch,
    timeline,
    watchdogs,
)
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

OLD, NEW = "6.12.1", "7.2.1"


class Jumped(BaseException):
    """The kernel was replaced: nothing that the old one does from here on counts."""


class Node:
    """What happened (``events``, in order), and what fails (``failing``: event → exception)."""

    Jumped = Jumped

    def __init__(self, directory):
        self.directory = directory
        self.events = []
        self.failing = {}
        self.kexec_loaded = True
        self.configuration = []  # in /run, and nothing reads it any more
        self.sockets = []
        self.main_pids = {}
        self.rss, self.patience = 1 << 20, None
        self.unfit, self.inactive, self.killed = set(), set(), set()
        self.takes_time = self.sandboxed = False
        self.lost = set()
        self.rings, self.late = False, []
        # Answers of the kernel, the last one first.
        self.opening, self.closing = [], []
        self.jumped_with = None

    def note(self, event):
        self.events.append(event)
        if event in self.failing:
            raise self.failing.pop(event)

    def at(self, event):
        """Position of the only such event."""
        assert self.events.count(event) == 1, (event, self.events)
        return self.events.index(event)

    def in_order(self, *events):
        """Whether these events happened, each once, in this order."""
        places = [self.at(event) for event in events]
        return places == sorted(places)

    def after(self, event):
        return self.events[self.events.index(event) + 1 :]


class Checkpoint(base.Checkpoint):
    def __init__(self, node, *arguments):
        super().__init__(*arguments)
        self._node = node

    def _note(self, event):
        number = os.path.basename(self.directory).partition("-")[0]
        self._node.note(f"{event} {number}-{self.unit.name[0]}")

    def pre_copy(self):
        self._note("pre-copy")
        return self._node.takes_time

    def pre_copy_again(self):
        self._note("pre-copy again")

    def start(self):
        self._note("start")

    def wait_ready(self, deadline):
        self._note("ready")

    def before_freeze(self):
        self._note("before freeze")

    def freeze(self):
        self._note("freeze")

    def wait_complete(self, deadline):
        self._node.patience = deadline - time.monotonic()
        self._note("complete")

    def check(self):
        self._note("check")

    def resume(self):
        self._note("resume")

    @property
    def killed(self):
        return self.unit.name in self._node.killed

    def discard(self):
        self._note("discard")

    @property
    def bytes(self):
        return 1000

    def statistics(self):
        return {"pages": 7}

    def restore_command(self, pidfile):
        return ["criu", "restore"]


class Engine(base.Engine):
    name = "fake"

    def __init__(self, node):
        self._node = node

    def prepare(self, release):
        self._node.note(f"prepare {release}")
        return False

    def prove(self, record, target):
        self._node.note(f"prove {target}")
        self._node.kexec_loaded = True

    def load(self, record, target):
        self._node.note(f"load {target}")
        return "TABLE=1\n"

    def seal(self, checkpoints):
        self._node.note(f"seal {len(checkpoints)}")

    def give_up(self):
        self._node.note("give up")

    def checkpoint(self, unit, directory, settings):
        return Checkpoint(self._node, unit, directory, settings)


class Plan:
    directory = "the plan"

    def __init__(self, node, number, checkpoints, frames):
        self._node, self._number = node, number
        lasting = "" if all(each.keeps_connections for each in checkpoints) else ", connections end"
        self._node.note(f"plan {number} {frames.strip()}{lasting}".strip())

    def complete(self, sockets, threads):
        self._node.note(f"plan {self._number} complete, {len(sockets)} sockets, threads {threads}")

    def note_trees(self, checkpoints):
        self._node.note(f"plan {self._number}, {len(checkpoints)} trees")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """What is tried again is so at once."""
    monkeypatch.setattr(again, "PAUSE", 0)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A `Node` on the old kernel, with the state of an update to the new one below its ``directory``."""
    found = Node(tmp_path)
    running = types.SimpleNamespace(release=OLD)
    found.running = running

    def unit(name):
        pid = found.main_pids.get(name, 100)
        processes = [types.SimpleNamespace(pid=pid, name="a", threads=[pid, pid + 1])]
        active = name not in found.inactive
        properties = {"ActiveState": "active" if active else "failed"}
        return types.SimpleNamespace(
            name=name, main_pid=pid, processes=processes, active=active, properties=properties, rss=found.rss
        )

    def examine(unit, carried, criu):
        found.note(f"examine {unit.name[0]}")
        blocker = Blocker("device-descriptor", "", "has a device open", "close it", unit.name)
        blockers = [blocker] if unit.name in found.unfit else []
        return Findings(blockers, sockets=found.sockets, lock="nftables")

    def ask(processes):
        return {process.pid: {"landlock": 1} if found.sandboxed else {} for process in processes}

    def save(record, saved=records.save):
        found.note(f"record {record['PHASE']}")
        saved(record)

    def nft(argv, stdin=None, check=True, **_more):
        if "kup_parked" in argv:
            found.note("release peers")
        elif stdin and "syn | ack | rst" in stdin:
            found.note("lock newcomers")
        else:
            found.note("lock packets" if stdin else "release packets")

    def execute():
        found.note("kexec")
        found.jumped_with = records.load()
        raise Jumped

    def unload():
        found.note("unload")
        found.kexec_loaded = False

    for module, name, fake in (
        (records, "RECORD", str(tmp_path / "record")),
        (records, "RECORD_COPY", str(tmp_path / "record.copy")),
        (records, "save", save),
        (timeline, "TIMELINE", str(tmp_path / "timeline")),
        (timeline, "RUN", str(tmp_path / "run")),
        (pending_memory, "RUN", str(tmp_path / "run")),
        (gate, "RUN", str(tmp_path / "run")),
        (switch, "MEMORY", str(tmp_path / "memory.json")),
        (switch, "_LAST_BREATH", 0),
        (switch, "Unit", unit),
        (staging, "Unit", unit),
        (staging.attributes, "ask", ask),
        (checkpoints, "Unit", unit),
        (checkpoints.examination, "examine", examine),
        (checkpoints.travelling, "of", lambda units: frozenset(unit.name for unit in units)),
        (checkpoints.seen, "version", lambda: "4.2.1"),
        (checkpoints.inet_sockets, "of_processes", lambda several: found.sockets * len(several)),
        (checkpoints.tcp_states, "opening", lambda ports: bool(found.opening) and found.opening.pop()),
        (checkpoints.tcp_states, "closing", lambda ports: bool(found.closing) and found.closing.pop()),
        (checkpoints.interrupted, "note", lambda several: {}),
        (checkpoints.disk_requests, "has_ring", lambda several: found.rings),
        (checkpoints.disk_requests, "wait", lambda several: found.note("disks are waited for") or found.late),
        (checkpoints.freeze_order, "stop", lambda several: found.note(f"stop {len(several)}") if several else None),
        (checkpoints.freeze_order, "let_go", lambda several: found.note(f"let go {len(several)}") if several else None),
        (checkpoints.freeze_order, "groups", lambda several: [list(several)]),
        (pairs, "take", lambda several, trees, directory: found.note(f"pairs of {len(trees)} in {directory}")),
        (fingerprint, "record", lambda trees, directory: found.note(f"fingerprint of {len(trees)} in {directory}")),
        (gate, "lost_state", lambda record: sorted(found.lost)),
        (network_lock, "run", nft),
        (watchdogs, "extend", lambda units: found.note(f"extend watchdogs of {len(units)}")),
        (watchdogs, "release", lambda: found.note("release watchdogs")),
        (os, "sync", lambda: found.note("sync")),
        (boot_plan, "Plan", lambda number, taken, record, frames="": Plan(found, number, taken, frames)),
        (kernels, "running", lambda: running.release),
        (kexec, "KERNELS", str(tmp_path / "kernels")),
        (kexec, "loaded", lambda: found.kexec_loaded),
        (kexec, "unload", unload),
        (kexec, "execute", execute),
        (kexec, "preserve", lambda release, initramfs: found.note(f"preserve {release} {initramfs}")),
        (grub, "pin", lambda release: found.note(f"pin {release}")),
        (grub, "unpin", lambda release: found.note(f"unpin {release}")),
        (grub, "remember", lambda: "as it was"),
        (grub, "recall", lambda remembered: found.note(f"boot loader {remembered}")),
        (panic, "settings", lambda: "panic=0"),
        (panic, "put_back", lambda kept: found.note(f"panic settings {kept}")),
        (crash_kernel, "room", lambda directory: "crashkernel=1K@0"),
        (crash_kernel, "provide_files", lambda directory: found.note("crash kernel files")),
        (first_process, "word", lambda directory: kexec.FIRST_PROCESS),
        (first_process, "prepare", lambda directory: found.note("another first process") or kexec.FIRST_PROCESS),
        (first_process, "WITHOUT_BPF", str(tmp_path / "without-bpf")),
        (first_process, "read_text", {"/proc/cmdline": kexec.FIRST_PROCESS}.get),
        (
            first_process,
            "run",
            lambda argv, check=True: found.note(" ".join(argv)) or types.SimpleNamespace(returncode=0),
        ),
        (crash_kernel, "disarm", lambda record: found.note("disarm")),
        (packages_lock, "PATH", str(tmp_path / "dpkg/lock-frontend")),
        (leftovers.kept, "removable", lambda: found.configuration),
        (leftovers.kept, "remove", lambda: found.note("remove configuration in /run")),
        (commit, "run", lambda argv, check=True: found.note(" ".join(argv))),
        (leftovers, "run", lambda argv, check=True: found.note(" ".join(argv))),
    ):
        monkeypatch.setattr(module, name, fake)
    for name in ("KERNELS", "PANIC_LOG", "STATE"):
        monkeypatch.setattr(staging, name, str(tmp_path / ("" if name == "STATE" else name.lower())))
    for name in (
        "BOOT",
        "CHECKS",
        "KERNELS",
        "MEMORY",
        "NUMBERS",
        "PANIC_LOG",
        "REHEARSAL_IMAGES",
        "REHEARSALS",
        "RUN",
    ):
        monkeypatch.setattr(leftovers, name, str(tmp_path / name.lower()))
    monkeypatch.setitem(registry.ENGINES, "fake", Engine(found))
    for release in (OLD, NEW):
        (tmp_path / "kernels" / release).mkdir(parents=True)
        (tmp_path / "kernels" / release / "staged").write_text("")
    (tmp_path / "run").mkdir()
    return found


@pytest.fixture
def record(node):
    """The record of a prepared update of two units, saved."""
    prepared = Record(
        ID="20260101T000000",
        PHASE="prepared",
        ENGINE="fake",
        UNITS="a.service b.service",
        KERNEL_OLD=OLD,
        KERNEL_NEW=NEW,
        IMAGES=str(node.directory / "images"),
        PANIC="panic=0",
        RESTORE_TIMEOUT="120",
        COMMIT_TIMEOUT="600",
    )
    records.save(prepared)
    node.events.clear()
    return prepared


@pytest.fixture
def without_bpf(node):
    """What says that systemd has begun without its BPF programs."""
    path = node.directory / "without-bpf"
    path.mkdir()
    return path
