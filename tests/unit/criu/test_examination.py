"""What is seen of a real process, and what of it stands in the way."""

import ctypes
import dataclasses
import errno
import mmap
import os
import socket
import struct
import subprocess
import sys
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import (
    carried,
    checks,
    examination,
    seen,
    segments,
    view,
)
from ansible_collections.kup.fleet.plugins.module_utils._system import mountinfo, processes
from ansible_collections.kup.fleet.plugins.module_utils._system.unix_sockets import UnixSocket

# Opens what its arguments say, tells that it is ready, and waits for the end of its input.
CHILD = """
import mmap, os, socket, sys
kept = []
for word in sys.argv[1:]:
    kind, _colon, path = word.partition(":")
    if kind == "open":
        kept.append(open(path, "r+b"))
    elif kind == "root":
        os.chroot(path)
    elif kind == "map":
        with open(path, "r+b") as stream:
            kept.append(mmap.mmap(stream.fileno(), 4096))
    elif kind == "unix":
        kept.append(socket.socket(socket.AF_UNIX))
        kept[-1].bind(path)
    elif kind == "tcp":
        kept.append(socket.create_server(("127.0.0.1", 0)))
    elif kind == "protocol":
        kept.append(socket.socket(socket.AF_INET, int(path.split(",")[0]), int(path.split(",")[1])))
    elif kind == "connect":
        kept.append(socket.create_connection(("127.0.0.1", int(path))))
    elif kind == "tls":
        kept.append(socket.create_connection(("127.0.0.1", int(path))))
        kept[-1].setsockopt(6, 31, b"tls")
    elif kind == "sem":
        import ctypes
        libc = ctypes.CDLL(None)
        identifier = libc.semget(0, 2, 0o1600)
        libc.semctl(identifier, 1, 16, 1)
        if path == "undo":
            libc.semop(identifier, b"\\1\\0\\xff\\xff\\0\\x10", 1)
        print(identifier, flush=True)
    elif kind == "shm":
        import ctypes
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p
        identifier = libc.shmget(0, 3 * 4096, 0o1600)
        place = libc.shmat(identifier, None, 0)
        libc.shmctl(identifier, 0, None)
        if path == "part":
            libc.munmap(ctypes.c_void_p(place + 4096), 4096)
        elif path == "read":
            libc.mprotect(ctypes.c_void_p(place + 4096), 4096, 1)
        elif path == "code":
            libc.mprotect(ctypes.c_void_p(place), 4096, 5)
        print(identifier, flush=True)
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
            [sys.executable, "-c", CHILD, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            **options,
        )
        children.append(child)
        said = child.stdout.readline()
        if said != b"ready\n":
            begin.said = int(said)
            said = child.stdout.readline()
        assert said == b"ready\n"
        one = processes.Process(child.pid)
        cgroup = seen.read_text(f"{one.path}/cgroup").rpartition("::")[2]
        around = seen.Around(
            child.pid,
            cgroup,
            {child.pid: one.parent},
            {kind: one.namespace(kind) for kind in ("pid", "net", "user", "mnt", "ipc")},
            frozenset(),
        )
        monkeypatch.setattr(seen, "_MOMENT", 0.01)
        monkeypatch.setattr(seen, "around", lambda unit, criu: around)
        # Its standard streams are pipes of this process.
        pipes = [target for number, target in one.descriptors() if number < 2]
        elsewhere = seen._held_elsewhere
        # The tests' own control group is that of the child.
        monkeypatch.setattr(seen.processes, "in_cgroup", lambda path: [])
        monkeypatch.setattr(
            seen, "_held_elsewhere", lambda unit: {k: v for k, v in elsewhere(unit).items() if k not in pipes}
        )
        return types.SimpleNamespace(
            name="a.service", main_pid=child.pid, main=one, own_mounts=False, cgroup=cgroup, processes=[one]
        )

    yield begin
    for child in children:
        child.communicate()


def test_a_pipe_to_what_the_unit_has_just_started_is_none_to_a_stranger(monkeypatch):
    reader, writer = os.pipe()
    try:
        born = subprocess.Popen(["sleep", "60"], pass_fds=[writer])
        unit = types.SimpleNamespace(cgroup="/a.service", processes=[processes.Process(os.getpid())])
        target = os.readlink(f"/proc/self/fd/{writer}")
        monkeypatch.setattr(seen.processes, "in_cgroup", lambda path: [])
        assert seen._held_elsewhere(unit)[target] == born.pid
        monkeypatch.setattr(seen.processes, "in_cgroup", lambda path: [processes.Process(born.pid)])
        assert target not in seen._held_elsewhere(unit)
    finally:
        born.kill()
        born.wait()
        os.close(reader)
        os.close(writer)


def found(unit, *together):
    return [(blocker.code, blocker.object) for blocker in examination.examine(unit, *together).blockers]


@pytest.mark.parametrize(
    ("criu", "forgets"),
    [
        (
            "3.17.1",
            {
                *("membarrier", "membarrier-rseq", "membarrier-sync-core"),
                *("ambient", "no-new-privs", "thp-disable", "wipe-on-fork"),
            },
        ),
        ("4.1.1", {"wipe-on-fork"}),
        ("4.2", set()),
        ("", set()),
    ],
)
def test_it_is_known_which_criu_forgets_attributes(start, criu, forgets):
    assert examination.examine(start(), criu=criu).forgets == forgets


def judge_by(monkeypatch, unit, **fields):
    """Judge the unit as if other things were around it."""
    around = dataclasses.replace(seen.around(unit, ""), **fields)
    monkeypatch.setattr(seen, "around", lambda unit, criu: around)


def test_nothing_stands_in_the_way_of_a_plain_process(start, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(4096))
    findings = examination.examine(start(f"open:{path}", f"map:{path}", "tcp"))
    assert findings.blockers == []
    assert [each.listening for each in findings.sockets] == [True]
    assert (findings.journal, findings.external_files) == ({}, {})


def test_large_files_without_a_name_are_found(start, tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "LARGEST_DELETED_MIB", 1)
    content = b"x" * (2 << 20)
    for name in ("open", "map", "linked", "holes"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "other").hardlink_to(tmp_path / "linked")
    with open(tmp_path / "holes", "wb") as stream:
        stream.truncate(len(content))
    memory = os.memfd_create("memory")
    os.write(memory, content)
    unit = start(
        f"open:{tmp_path}/open",
        f"map:{tmp_path}/map",
        f"open:{tmp_path}/linked",
        f"open:{tmp_path}/holes",
        f"map:/proc/self/fd/{memory}",
        pass_fds=[memory],
    )
    os.close(memory)
    assert found(unit) == []
    for name in ("open", "map", "linked", "holes"):
        (tmp_path / name).unlink()
    # A mapping of Python's has a descriptor, too.
    texts = {(code, text.partition("/")[2].rstrip(")")) for code, text in found(unit)}
    where = f"{tmp_path}/".lstrip("/")
    assert texts == {
        ("deleted-file", f"{where}open (deleted"),
        ("deleted-file", f"{where}map (deleted"),
        ("mapped-deleted-file", f"{where}map (deleted"),
    }


def test_a_blocker_names_unit_and_process(start, monkeypatch):
    unit = start()
    judge_by(monkeypatch, unit, main_pid=1)
    (blocker,) = examination.examine(unit).blockers
    (process,) = unit.processes
    assert (blocker.code, blocker.unit) == ("outside-the-tree", "a.service")
    assert blocker.process == f"{process.name}[{process.pid}]"


def test_a_process_that_has_ended_has_no_blockers(start, monkeypatch):
    unit = start()
    judge_by(monkeypatch, unit, main_pid=1)
    monkeypatch.setattr(processes.Process, "exists", False)
    assert examination.examine(unit).blockers == []


def test_namespaces_and_control_group_are_seen(start, monkeypatch):
    unit = start()
    judge_by(
        monkeypatch,
        unit,
        cgroup="/other",
        namespaces=dict.fromkeys(("pid", "net", "user", "mnt", "ipc"), "of the host"),
    )
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
        findings = examination.examine(unit)
        number = theirs.fileno()
    says = [blocker.sentence() for blocker in findings.blockers]
    assert [blocker.code for blocker in findings.blockers] == ["connected-unix-socket"] * blocked
    assert not blocked or f"is connected to {named};" in says[0]
    assert findings.journal == ({} if blocked else {number: here})


def ends(monkeypatch, ours, theirs, kind=socket.SOCK_STREAM):
    """List both sockets as the ends of one connection; returns the link to the second."""
    here, there = (os.fstat(each.fileno()).st_ino for each in (theirs, ours))
    rows = [UnixSocket("", here, there, kind), UnixSocket("/run/other", there, here, kind)]
    monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
    return f"socket:[{there}]"


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (socket.SOCK_STREAM, []),
        (socket.SOCK_SEQPACKET, []),
        (socket.SOCK_DGRAM, ["connected-unix-socket"]),
    ],
)
def test_a_connection_to_another_carried_unit_lives_on(start, monkeypatch, kind, codes):
    ours, theirs = socket.socketpair(type=kind)
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        link = ends(monkeypatch, ours, theirs, kind)
        theirs.close()
        monkeypatch.setattr(seen.descriptors.Copies, "peer_pid", lambda self, number: 0)
        together = carried.Carried(frozenset({link}), frozenset({"/a.service", "/b.service"}))
        findings = examination.examine(unit, together)
    assert [blocker.code for blocker in findings.blockers] == codes
    assert findings.ends


def test_one_that_was_opened_after_the_others_were_listed_lives_on(start, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        ends(monkeypatch, ours, theirs)
        theirs.close()
        group = processes.Process(os.getpid()).cgroup
        assert found(unit, carried.Carried(cgroups=frozenset({"/b.service", group}))) == []


def test_an_end_that_others_hold_as_well_is_seen(start, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        link = ends(monkeypatch, ours, theirs)
        monkeypatch.setattr(seen.descriptors.Copies, "peer_pid", lambda self, number: 0)
        blockers = examination.examine(unit, carried.Carried(frozenset({link}))).blockers
    assert [blocker.code for blocker in blockers] == ["shared-end"]
    assert f"is shared with pid {os.getpid()}" in blockers[0].sentence()


@pytest.mark.parametrize(("maker", "blocked"), [(1, True), (0, False), (1 << 30, False)])
def test_an_end_that_a_process_of_no_carried_unit_has_made_is_seen(start, monkeypatch, maker, blocked):
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(seen.descriptors.Copies, "peer_pid", lambda self, number: maker)
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        link = ends(monkeypatch, ours, theirs)
        theirs.close()
        blockers = examination.examine(unit, carried.Carried(frozenset({link}))).blockers
    assert [blocker.code for blocker in blockers] == ["made-by-another"] * blocked


def test_one_whose_peer_has_closed_it_meanwhile_is_none(start, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        ends(monkeypatch, ours, theirs)
        listed = seen.unix_sockets.table()
        tables = iter([listed, {}])
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: next(tables))
        ours.close()
        assert found(unit) == []


@pytest.mark.parametrize(
    ("cgroup", "service"),
    [
        ("/system.slice/db.service", "db.service"),
        ("/init.scope", ""),
        ("/system.slice/systemd-logind.service", ""),
        ("/system.slice/dbus.service", ""),
    ],
)
def test_the_service_at_the_other_end_is_named(start, monkeypatch, cgroup, service):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[theirs.fileno()])
        ends(monkeypatch, ours, theirs)
        monkeypatch.setattr(processes.Process, "cgroup", property(lambda self: cgroup))
        blockers = examination.examine(unit).blockers
    (blocker,) = [each for each in blockers if each.code == "connected-unix-socket"]
    assert ("add db.service to kup_units" in blocker.sentence()) is bool(service)


@pytest.mark.parametrize(
    ("kind", "listed", "seen_there", "blocked"),
    [
        (socket.SOCK_DGRAM, True, True, False),
        (socket.SOCK_STREAM, True, True, True),
        (socket.SOCK_DGRAM, False, True, True),
        (socket.SOCK_DGRAM, True, False, True),
    ],
    ids=["syslog", "stream", "other", "hidden"],
)
def test_datagrams_to_systemd_go_on(start, monkeypatch, tmp_path, kind, listed, seen_there, blocked):
    path = f"{tmp_path}/log"
    monkeypatch.setattr(seen, "_STATELESS", (path,) if listed else ())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log, socket.socket(socket.AF_UNIX, kind) as client:
        if seen_there:
            log.bind(path)
        unit = start(pass_fds=[client.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (client, log))
        rows = [UnixSocket("", here, there, kind), UnixSocket(path, there, 0, kind)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        findings = examination.examine(unit)
    assert [blocker.code for blocker in findings.blockers] == ["connected-unix-socket"] * blocked
    assert findings.datagrams is not blocked


@pytest.mark.skipif(os.getuid() != 0, reason="changes its root directory")
@pytest.mark.parametrize("is_main", [False, True], ids=["child", "main"])
def test_one_that_has_changed_its_root_directory_has_the_mounts_of_its_unit(start, monkeypatch, tmp_path, is_main):
    """Servers of mail and files do that in child processes, others in the main one, with files and connections from before."""
    (tmp_path / "data").write_bytes(b"x")
    (tmp_path / "root").mkdir()
    path = f"{tmp_path}/log"
    monkeypatch.setattr(seen, "_STATELESS", (path,))
    main = start()
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client,
    ):
        log.bind(path)
        child = start(f"open:{tmp_path}/data", f"root:{tmp_path}/root", pass_fds=[client.fileno(), log.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (client, log))
        rows = [UnixSocket("", here, there, socket.SOCK_DGRAM), UnixSocket(path, there, 0, socket.SOCK_DGRAM)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        child.main = child.main if is_main else main.main
        assert found(child) == []


@pytest.mark.skipif(os.getuid() != 0, reason="changes its root directory")
def test_a_socket_below_a_root_directory_of_the_unit_is_not_found_by_its_name(start, monkeypatch, tmp_path):
    """CRIU would restore it without one."""
    unit = start(f"root:{tmp_path}", "unix:/its")
    inode = next(int(target[8:-1]) for _number, target in unit.main.descriptors() if target.startswith("socket:["))
    monkeypatch.setattr(seen.unix_sockets, "table", lambda: {inode: UnixSocket("/its", inode)})
    assert [code for code, _object in found(unit)] == ["moved-unix-socket"]


def test_both_ends_of_a_unix_socket_within_the_unit_are_fine(start, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unit = start(pass_fds=[ours.fileno(), theirs.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (theirs, ours))
        rows = [UnixSocket("", here, there), UnixSocket("", there, here)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        assert found(unit) == []


@pytest.mark.parametrize(("user", "blocked"), [(0, False), (os.getuid(), False), (54321, True)])
def test_a_peer_of_another_user_is_seen(start, monkeypatch, user, blocked):
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(seen.descriptors.Copies, "peer_user", lambda self, number: user)
    with ours, theirs:
        unit = start(pass_fds=[ours.fileno(), theirs.fileno()])
        here, there = (os.fstat(each.fileno()).st_ino for each in (theirs, ours))
        rows = [UnixSocket("", here, there), UnixSocket("", there, here)]
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {each.inode: each for each in rows})
        blockers = examination.examine(unit).blockers
    assert [blocker.code for blocker in blockers] == ["peer-of-another-user"] * 2 * blocked


@pytest.mark.parametrize("moved", [False, True])
def test_a_listener_whose_file_was_moved_is_seen(start, tmp_path, monkeypatch, moved):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/socket.new")
        listener.listen()
        (tmp_path / "other").mkdir()
        (tmp_path / "socket.new").rename(tmp_path / ("other/socket" if moved else "socket"))
        unit = start(pass_fds=[listener.fileno()])
        row = UnixSocket(f"{tmp_path}/socket.new", os.fstat(listener.fileno()).st_ino)
        monkeypatch.setattr(seen.unix_sockets, "table", lambda: {row.inode: row})
        blockers = examination.examine(unit).blockers
    assert [blocker.code for blocker in blockers] == ["moved-unix-socket"] * moved
    assert not moved or f"is bound as {tmp_path}/socket.new, and" in blockers[0].sentence()


def test_a_file_on_a_mount_that_the_unit_does_not_have(start, monkeypatch, tmp_path):
    (tmp_path / "data").touch()
    unit = start(f"open:{tmp_path}/data")
    monkeypatch.setattr(seen.mountinfo, "of", lambda process: [])
    findings = examination.examine(unit)
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
    for name in ("read_lines", "each_line"):
        read = getattr(seen, name)
        monkeypatch.setattr(
            seen, name, lambda path, read=read: [row.replace(f"{tmp_path}/its ", f"{tmp_path}/") for row in read(path)]
        )
    assert ("private-directory", f"its working directory {tmp_path}/place") in found(unit)
    assert "private-mapping" not in dict(found(unit))
    # A unit with mounts of its own gets them again; what is on a disk is there then.
    monkeypatch.setattr(view, "look", lambda main: view.View(owned=True, root="/"))
    unit.own_mounts = True
    # The program maps the file, and has it open for writing.
    assert [code for code, _object in found(unit)] == ["unseen-file"]
    with monkeypatch.context() as patch:
        patch.setattr(view.Mounts, "private", lambda mounts, path: path.startswith(str(tmp_path)))
        assert found(unit) == []
    monkeypatch.setattr(view.Mounts, "lasting", lambda mounts, path: str(tmp_path) not in path)
    assert {
        ("private-directory", f"its working directory {tmp_path}/place"),
        ("private-mapping", f"the mapping of {tmp_path}/data"),
    } < set(found(unit))


@pytest.mark.parametrize(
    "mounts", [None, view.Mounts([], []), view.Mounts(mountinfo.of("/proc/self"), [])], ids=["node", "none", "own"]
)
def test_shared_memory_without_a_name_is_no_private_file(mounts):
    # As the workers of Apache have it, whose unit has a private /tmp.
    with mmap.mmap(-1, 4096):
        found = {one.path: one for one in seen.mappings(processes.Process(os.getpid()), mounts)}
    assert not found["/dev/zero (deleted)"].private and found["/dev/zero (deleted)"].deleted == seen.Deleted()


def test_a_view_of_its_own_is_judged(start, monkeypatch):
    unit = start()
    unit.own_mounts = True
    monkeypatch.setattr(view, "look", lambda main: view.View(owned=False, root="/", foreign=("/etc",)))
    assert found(unit) == [("mount-namespace-owner", "its mount namespace")]


def test_memory_that_is_still_to_come_is_seen(start, monkeypatch, tmp_path):
    unit = start()
    (tmp_path / "smaps").write_text("7f00-7f01 rw-p 0 00:00 0\nVmFlags: rd wr mr mw me ac um sd \n")
    search = seen.smaps.search
    monkeypatch.setattr(seen.smaps, "search", lambda path, pattern: search(tmp_path / "smaps", pattern))
    assert found(unit) == [("pending-memory", "its memory")]


@pytest.mark.parametrize(
    ("nodes", "second", "seen_as"),
    [
        ("0-1\n", "interleave:0-1 file=/usr/bin/x mapped=3", [("memory-policy", "its memory policy interleave:0-1")]),
        ("0-1\n", "default anon=2 dirty=2", []),
        ("0\n", "bind:0 anon=2 dirty=2", []),
    ],
)
def test_a_memory_policy_is_seen_where_memory_has_several_nodes(start, monkeypatch, nodes, second, seen_as):
    unit = start()
    texts = {"/has_memory": nodes, "/numa_maps": f"7f00 default heap anon=1 N0=1\n7f01 {second}\n"}
    for name in ("read_text", "each_line"):
        read = getattr(seen, name)

        def fake(path, *rest, read=read, name=name):
            text = next((text for end, text in texts.items() if path.endswith(end)), None)
            return read(path, *rest) if text is None else text if name == "read_text" else text.splitlines()

        monkeypatch.setattr(seen, name, fake)
    assert found(unit) == seen_as


def test_file_systems_in_memory(monkeypatch):
    rows = "21 1 0:5 / /dev rw - devtmpfs udev rw\n22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 1 0:28 / /run rw - tmpfs tmpfs rw"
    monkeypatch.setattr(seen.mountinfo, "read_lines", lambda path: rows.split("\n"))
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
        assert seen.around(unit, "").parents == parents


def test_a_socket_of_another_protocol_is_seen(start):
    kept = []
    for kind, number in ((socket.SOCK_STREAM, 262), (socket.SOCK_STREAM, 132)):
        try:
            kept.append(socket.socket(socket.AF_INET, kind, number))
        except OSError:  # a kernel without it
            continue
    if not kept:
        pytest.skip("this kernel has neither MPTCP nor SCTP")
    for one in kept:
        one.bind(("127.0.0.1", 0))
        one.listen()  # now /proc/net/tcp lists one of MPTCP
        assert [code for code, _object in found(start(pass_fds=[one.fileno()]))] == ["socket-protocol"]
        one.close()


def test_what_lies_on_a_connection_is_seen(start):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
        try:
            client.setsockopt(6, 31, b"tls")
        except OSError:
            pytest.skip("this kernel has no TLS")
        assert [code for code, _object in found(start(pass_fds=[client.fileno()]))] == ["protocol-on-tcp"]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_to_a_process_that_stays_behind_is_seen(start, family):
    with socket.socket(family) as server:
        server.bind(("::" if family == socket.AF_INET6 else "127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        unit = start(f"connect:{port}")
        # Nobody has accepted it yet.
        assert found(unit) == []
        with server.accept()[0] as accepted:
            (blocker,) = examination.examine(unit).blockers
            here = accepted.getpeername()[1]
            assert blocker.code == "loopback-peer"
            assert (
                f"(connection 127.0.0.1:{here} to 127.0.0.1:{port}) leads to pid {os.getpid()} of" in blocker.sentence()
            )
            # A unit that travels with it.
            inode = os.fstat(accepted.fileno()).st_ino
            assert examination.examine(unit, carried.Carried(frozenset({f"socket:[{inode}]"}))).blockers == []


def test_a_connection_of_a_moment_is_none(start, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        unit = start(f"connect:{server.getsockname()[1]}")
        accepted = server.accept()[0]
        monkeypatch.setattr(seen.time, "sleep", lambda seconds: accepted.close())
        assert found(unit) == []


def test_a_connection_within_the_unit_is_fine(start):
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as accepted,
    ):
        assert found(start(pass_fds=[client.fileno(), accepted.fileno()])) == []


def test_a_shared_socket_is_asked_once(start, monkeypatch):
    asked = []
    monkeypatch.setattr(seen.descriptors.Copies, "kind_of", lambda self, number: asked.append(number))
    with socket.create_server(("127.0.0.1", 0)) as server:
        unit = start(pass_fds=[server.fileno()])
        unit.processes = unit.processes * 3
        found(unit)
        assert asked == [server.fileno()]


@pytest.fixture
def semaphores(start):
    """Start the child with semaphores, which are removed afterwards."""
    units = []

    def begin(word):
        units.append((start(word), start.said))
        return units[-1][0]

    yield begin
    for _unit, number in units:
        ctypes.CDLL(None).semctl(number, 0, 0)


def test_semaphores_of_the_unit_are_seen(start, semaphores):
    unit = semaphores("sem:")
    host = seen.around(unit, "").namespaces["ipc"]
    assert [(each.kind, each.number) for each in seen.ipc_objects(unit, host)] == [("sem", start.said)]
    assert found(unit) == []
    assert found(start()) == []


def test_semaphores_that_are_changed_at_the_end_of_a_process(start, semaphores):
    unit = semaphores("sem:undo")
    assert found(unit) == [("sysv-semaphores", f"the System V semaphores {start.said}")]


def test_an_ipc_namespace_of_its_own_is_carried(start, monkeypatch):
    unit = start()
    monkeypatch.setattr(seen.sysv, "objects", lambda: pytest.fail("the node's were looked at"))
    assert seen.ipc_objects(unit, "ipc:[1]") == []


@pytest.mark.parametrize("how", ["", "read"])
def test_attached_segments_are_carried(start, monkeypatch, how):
    unit = start(f"shm:{how}")
    monkeypatch.setattr(segments.processes, "in_cgroup", lambda cgroup: unit.processes)
    findings = examination.examine(unit)
    assert (findings.blockers, findings.segments) == ([], True)
    assert segments.attached(unit) == {start.said}
    assert not examination.examine(start()).segments


@pytest.mark.parametrize(("how", "why"), [("part", "in part"), ("code", "executable")])
def test_attached_segments_that_cannot_be_attached_again(start, how, why):
    unit = start(f"shm:{how}")
    (blocker,) = examination.examine(unit).blockers
    assert blocker.code == "sysv-memory"
    assert why in blocker.why


def test_a_segment_that_is_attached_elsewhere(start, monkeypatch):
    unit = start("shm:")
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    place = libc.shmat(start.said, None, 0)
    try:
        monkeypatch.setattr(
            segments.processes, "in_cgroup", lambda cgroup: [*unit.processes, processes.Process(os.getpid())]
        )
        assert found(unit) == []  # a process that the unit has started since
        monkeypatch.setattr(segments.processes, "in_cgroup", lambda cgroup: unit.processes)
        (blocker,) = examination.examine(unit).blockers
        assert f"[{os.getpid()}]" in blocker.why
    finally:
        libc.shmdt(ctypes.c_void_p(place))


def test_other_memory_with_the_number_of_a_segment(start, monkeypatch):
    memory = os.memfd_create("memory")
    unit = start("shm:", pass_fds=[memory])
    assert found(unit) == []
    inode, known = os.fstat(memory).st_ino, segments.sysv.segments()
    twin = dataclasses.replace(known[0], number=inode)
    monkeypatch.setattr(segments.sysv, "segments", lambda: [*known, twin])
    (blocker,) = examination.examine(unit).blockers
    assert "memfd:memory" in blocker.why
    os.close(memory)


@pytest.mark.parametrize(
    ("own_mounts", "place", "sealed"), [(True, "/proc/sys", True), (True, "/tmp", False), (False, "/proc/sys", False)]
)
def test_a_segment_of_a_unit_that_may_not_write_settings(start, monkeypatch, own_mounts, place, sealed):
    unit = start("shm:")
    unit.own_mounts = own_mounts
    monkeypatch.setattr(segments.mountinfo, "of", lambda path: [types.SimpleNamespace(place=place)])
    (segment,) = segments.look(unit, unit.main.namespace("ipc"))
    assert segment.sealed is sealed


def test_other_segments_of_the_node_have_a_limit(start, monkeypatch):
    unit, known = start("shm:"), segments.sysv.segments()
    other = dataclasses.replace(known[0], number=2**31 - 1, resident=segments.OTHERS_MAX + 1)
    monkeypatch.setattr(segments.sysv, "segments", lambda: [*known, other])
    assert found(unit) == [("sysv-size", "all other System V shared memory segments of the node")]


def test_children_elsewhere_are_seen(start, monkeypatch):
    unit = start()
    pid = unit.main_pid
    monkeypatch.setattr(processes, "parents", lambda: {1: 0, pid: 1, os.getpid(): pid, 2**22: os.getpid(), 5: 1})
    monkeypatch.setattr(processes.Process, "cgroup", "/other.scope")
    assert [(each.parent, each.cgroup) for each in seen.outsiders(unit)] == [
        (pid, "/other.scope"),
        (os.getpid(), "/other.scope"),
    ]
    assert ("scope-child", f"process {processes.Process(os.getpid()).name}[{os.getpid()}]") in found(unit)


def test_a_file_of_a_dead_server_is_told(start, monkeypatch, tmp_path):
    (tmp_path / "data").touch()
    unit = start(f"open:{tmp_path}/data")
    stat = os.stat

    def dead(path, **more):
        if "/fd/" in str(path) and os.readlink(path) == f"{tmp_path}/data":
            raise OSError(errno.ENOTCONN, "not connected")
        return stat(path, **more)

    monkeypatch.setattr(seen.os, "stat", dead)
    assert [code for code, thing in found(unit) if str(tmp_path) in thing] == ["unreadable-file"]


def test_a_netlink_socket_with_a_high_group_is_seen(start):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        for group in (5, 32):
            netlink.setsockopt(270, 1, group)  # NETLINK_ADD_MEMBERSHIP
        assert found(start(pass_fds=[netlink.fileno()])) == []
        netlink.setsockopt(270, 1, 33)
        assert [code for code, _object in found(start(pass_fds=[netlink.fileno()]))] == ["netlink-groups"]


def test_a_filter_of_an_ebpf_program_is_seen(start):
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as classic,
    ):
        classic.setsockopt(1, 26, struct.pack("HxxxxxxP", 1, address_of(struct.pack("HBBI", 6, 0, 0, 65535))))
        try:
            with open(ebpf_program(), closefd=True) as program:
                one.setsockopt(1, 50, program.fileno())  # SO_ATTACH_BPF
        except OSError:
            pytest.skip("eBPF programs are not allowed here")
        assert found(start(pass_fds=[classic.fileno()])) == []
        assert [code for code, _object in found(start(pass_fds=[one.fileno()]))] == ["socket-filter"]


KEPT = []
BPF = {"x86_64": 321, "aarch64": 280}  # numbers of bpf(2)


def address_of(content):
    KEPT.append(ctypes.create_string_buffer(content))
    return ctypes.addressof(KEPT[-1])


def ebpf_program():
    """Descriptor of a socket filter that lets everything through: r0 = 65535; exit."""
    code = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 65535, 0x95, 0, 0, 0)
    attributes = struct.pack("IIQQIIQII", 1, 2, address_of(code), address_of(b"GPL\0"), 0, 0, 0, 0, 0)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(
        BPF[os.uname().machine], 5, ctypes.c_char_p(attributes), len(attributes)
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return descriptor


def test_what_fdinfo_tells_of_is_seen():
    """Of this process, whose kernel tells of all."""
    libc, one = ctypes.CDLL(None, use_errno=True), processes.Process(os.getpid())
    numbers = {"": os.eventfd(1), "semaphore": os.eventfd(1, os.EFD_SEMAPHORE)}
    numbers |= {name: libc.inotify_init1(0) for name in ("all", "watches_once")}
    for name, flags in (("all", 0), ("watches_once", 0x80000000)):
        assert libc.inotify_add_watch(numbers[name], b"/", ctypes.c_uint32(0x100 | flags)) > 0
    for name, number in numbers.items():
        found = seen._nameless(one, number, os.readlink(f"/proc/self/fd/{number}"), 0)
        assert (found.semaphore, found.watches_once) == (name == "semaphore", name == "watches_once"), name
        os.close(number)


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", True), ("ext4", False)])
def test_a_file_that_its_server_keeps_from_root_is_not_carried(start, tmp_path, monkeypatch, kind, refused):
    (tmp_path / "data").write_bytes(bytes(4096))
    unit = start(f"map:{tmp_path}/data")
    rows = seen.mountinfo.of("/proc/self")
    monkeypatch.setattr(seen.mountinfo, "of", lambda process: [dataclasses.replace(row, kind=kind) for row in rows])
    assert [code for code, _object in found(unit)] == []
    opened = seen.os.open

    def squashed(path, flags, **more):
        if str(path).startswith(f"/proc/{unit.main.pid}/fd/") and flags & os.O_NONBLOCK:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, **more)

    monkeypatch.setattr(seen.os, "open", squashed)
    assert [code for code, _object in found(unit)] == (["closed-to-root"] if refused else [])


@pytest.mark.parametrize(("pid", "codes"), [(os.getpid(), ["file-of-process"]), ("self", [])])
def test_a_file_that_tells_of_a_stranger_is_not_carried(start, pid, codes):
    assert [code for code, _object in found(start(f"open:/proc/{pid}/status"))] == codes
