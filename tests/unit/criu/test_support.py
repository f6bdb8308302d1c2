"""What is seen of a real process, and what of it stands in the way."""

import dataclasses
import os
import socket
import subprocess
import sys
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import seen, support, view
from ansible_collections.kup.fleet.plugins.module_utils._system import processes
from ansible_collections.kup.fleet.plugins.module_utils._system.unix_sockets import UnixSocket

# Opens what its arguments say, tells that it is ready, and waits for the end of its input.
CHILD = """
import mmap, os, socket, sys
kept = []
for word in sys.argv[1:]:
    kind, _colon, path = word.partition(":")
    if kind == "open":
        kept.append(open(path, "r+b"))
    elif kind == "map":
        with open(path, "r+b") as stream:
            kept.append(mmap.mmap(stream.fileno(), 4096))
    elif kind == "tcp":
        kept.append(socket.create_server(("127.0.0.1", 0)))
    elif kind == "lock":
        import fcntl
        kept.append(open(path, "r+b"))
        fcntl.lockf(kept[-1], fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def start(monkeypatch):
    """Start the child with words, and return a unit of it; what only root may read of the host is replaced."""
    children = []
    monkeypatch.setattr(seen.unix_sockets, "table", dict)

    def begin(*words, **options):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        children.append(child)
        assert child.stdout.readline() == b"ready\n"
        one = processes.Process(child.pid)
        cgroup = seen.read_text(f"{one.path}/cgroup").rpartition("::")[2]
        around = seen.Around(
            child.pid,
            cgroup,
            {child.pid: one.parent},
            {kind: one.namespace(kind) for kind in ("pid", "net", "user", "mnt")},
            frozenset(),
        )
        monkeypatch.setattr(seen, "around", lambda unit: around)
        # Its standard streams are pipes of this process.
        pipes = [target for number, target in one.descriptors() if number < 2]
        elsewhere = seen._pipes_elsewhere
        monkeypatch.setattr(
            seen, "_pipes_elsewhere", lambda pids: {k: v for k, v in elsewhere(pids).items() if k not in pipes}
        )
        return types.SimpleNamespace(
            name="a.service", main_pid=child.pid, main=one, own_mounts=False, cgroup=cgroup, processes=[one]
        )

    yield begin
    for child in children:
        child.communicate()


def found(unit):
    return [(blocker.code, blocker.object) for blocker in support.examine(unit).blockers]


def judge_by(monkeypatch, unit, **fields):
    """Judge the unit as if other things were around it."""
    around = dataclasses.replace(seen.around(unit), **fields)
    monkeypatch.setattr(seen, "around", lambda unit: around)


def test_nothing_stands_in_the_way_of_a_plain_process(start, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(4096))
    findings = support.examine(start(f"open:{path}", f"map:{path}", "tcp"))
    assert findings.blockers == []
    assert [each.listening for each in findings.sockets] == [True]
    assert (findings.journal, findings.external_files, findings.file_locks) == ({}, {}, False)


def test_a_lock_is_found(start, tmp_path):
    (tmp_path / "data").touch()
    assert support.examine(start(f"lock:{tmp_path}/data")).file_locks


def test_a_blocker_names_unit_and_process(start, monkeypatch):
    unit = start()
    judge_by(monkeypatch, unit, main_pid=1)
    (blocker,) = support.examine(unit).blockers
    (process,) = unit.processes
    assert (blocker.code, blocker.unit) == ("outside-the-tree", "a.service")
    assert blocker.process == f"{process.name}[{process.pid}]"


def test_a_process_that_has_ended_has_no_blockers(start, monkeypatch):
    unit = start()
    judge_by(monkeypatch, unit, main_pid=1)
    monkeypatch.setattr(processes.Process, "exists", False)
    assert support.examine(unit).blockers == []


def test_namespaces_and_control_group_are_seen(start, monkeypatch):
    unit = start()
    judge_by(monkeypatch, unit, cgroup="/other", namespaces=dict.fromkeys(("pid", "net", "user", "mnt"), "of the host"))
    assert [code for code, _object in found(unit)] == [
        "pid-namespace",
        "net-namespace",
        "user-namespace",
        "mount-namespace",
        "control-group",
    ]


def test_a_file_in_memory_is_seen_once_open_and_once_mapped(start, monkeypatch, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(4096))
    unit = start(f"open:{path}", f"map:{path}", f"map:{path}")
    device = os.stat(path).st_dev
    number = f"{os.major(device):02x}:{os.minor(device):02x}"
    judge_by(monkeypatch, unit, volatile=frozenset({number}))
    ours = [(code, thing) for code, thing in found(unit) if str(path) in thing]
    assert ours[0] == ("mapped-file-in-memory", f"the mapping of {path}")
    assert {code for code, _thing in ours[1:]} == {"file-in-memory"}
    assert all(thing.endswith(f"({path})") for _code, thing in ours[1:])


def test_a_pipe_to_another_process_is_seen(start):
    read, write = os.pipe()
    try:
        (blocker,) = found(start(pass_fds=[write]))
    finally:
        os.close(read)
        os.close(write)
    assert blocker[0] == "shared-pipe"
    assert blocker[1].startswith(f"descriptor {write} (pipe:[")


@pytest.mark.parametrize(
    ("peer", "blocked", "named"),
    [
        ("/run/dbus/system_bus_socket", True, "/run/dbus/system_bus_socket"),
        ("/run/systemd/journal/stdout", False, ""),
        ("", True, "a process outside the unit"),
        ("@a b\n", True, "@a b\\n"),
    ],
)
def test_the_other_end_of_a_unix_socket_is_seen(start, monkeypatch, peer, blocked, named):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (theirs, ours))
        rows = [UnixSocket("", here, there), UnixSocket(peer, there, here)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        findings = support.examine(unit)
        number = theirs.fileno()
    says = [blocker.sentence() for blocker in findings.blockers]
    assert [blocker.code for blocker in findings.blockers] == ["connected-unix-socket"] * blocked
    assert not blocked or f"is connected to {named};" in says[0]
    assert findings.journal == ({} if blocked else {number: here})


def test_both_ends_of_a_unix_socket_within_the_unit_are_fine(start, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[ours.fileno(), theirs.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (theirs, ours))
        rows = [UnixSocket("", here, there), UnixSocket("", there, here)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        assert found(unit) == []


def test_a_file_on_a_mount_that_the_unit_does_not_have(start, monkeypatch, tmp_path):
    (tmp_path / "data").touch()
    unit = start(f"open:{tmp_path}/data")
    read = seen.read_lines
    monkeypatch.setattr(seen, "read_lines", lambda path: [] if path.endswith("/mountinfo") else read(path))
    findings = support.examine(unit)
    name, path = next(each for each in findings.external_files.items() if each[1] == f"{tmp_path}/data")
    assert name.endswith(f":{os.stat(path).st_ino:x}]")
    assert ("foreign-mount", path) in [(each.code, each.object.split("(")[-1][:-1]) for each in findings.blockers]


def test_a_file_that_others_do_not_see_by_its_path(start, monkeypatch, tmp_path):
    (tmp_path / "data").touch()
    unit = start(f"open:{tmp_path}/data")
    (tmp_path / "data").rename(tmp_path / "moved")
    target = os.readlink
    monkeypatch.setattr(
        seen.os, "readlink", lambda path: str(target(path)).replace(f"{tmp_path}/moved", f"{tmp_path}/data")
    )
    assert [code for code, _object in found(unit)] == ["private-file"]


def test_a_directory_and_a_program_that_others_do_not_see_by_their_path(start, monkeypatch, tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "data").write_bytes(bytes(4096))
    unit = start(f"map:{tmp_path}/data", cwd=tmp_path / "place")
    assert found(unit) == []
    for name in ("place", "data"):
        (tmp_path / name).rename(tmp_path / f"its {name}")
        (tmp_path / name).touch()
    monkeypatch.setattr(
        seen.os, "readlink", lambda path, real=os.readlink: real(path).replace(f"{tmp_path}/its ", f"{tmp_path}/")
    )
    read = seen.read_lines
    monkeypatch.setattr(
        seen, "read_lines", lambda path: [row.replace(f"{tmp_path}/its ", f"{tmp_path}/") for row in read(path)]
    )
    assert ("private-directory", f"its working directory {tmp_path}/place") in found(unit)
    assert "private-mapping" not in dict(found(unit))
    # The program is compared where the unit has mounts of its own.
    monkeypatch.setattr(view, "look", lambda main: view.View(owned=True, root="/"))
    unit.own_mounts = True
    assert ("private-mapping", f"the mapping of {tmp_path}/data") in found(unit)


def test_a_view_of_its_own_is_judged(start, monkeypatch):
    unit = start()
    unit.own_mounts = True
    monkeypatch.setattr(view, "look", lambda main: view.View(owned=False, root="/", foreign=("/etc",)))
    assert found(unit) == [("mount-namespace-owner", "its mount namespace")]


def test_memory_that_is_still_to_come_is_seen(start, monkeypatch):
    unit = start()
    read = seen.read_text
    smaps = "7f00-7f01 rw-p 0 00:00 0\nVmFlags: rd wr mr mw me ac um sd \n"
    monkeypatch.setattr(seen, "read_text", lambda path, *rest: smaps if path.endswith("/smaps") else read(path, *rest))
    assert found(unit) == [("pending-memory", "its memory")]


def test_file_systems_in_memory(monkeypatch):
    rows = "21 1 0:5 / /dev rw - devtmpfs udev rw\n22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 1 0:28 / /run rw - tmpfs tmpfs rw"
    monkeypatch.setattr(seen, "read_lines", lambda path: rows.split("\n"))
    assert seen._volatile_devices() == {"00:05", "00:1c"}


def test_parents_are_not_known_before_psutil_is_installed(monkeypatch):
    unit = types.SimpleNamespace(
        main_pid=7,
        main=types.SimpleNamespace(namespace=lambda kind: kind),
        cgroup="/a",
        processes=[types.SimpleNamespace(pid=7, parent=1), types.SimpleNamespace(pid=8, parent=7)],
    )
    monkeypatch.setattr(seen.os, "readlink", lambda path: "host")
    for there, parents in ((True, {7: 1, 8: 7}), (False, {})):
        monkeypatch.setattr(seen.processes, "HAS_PSUTIL", there)
        assert seen.around(unit).parents == parents
