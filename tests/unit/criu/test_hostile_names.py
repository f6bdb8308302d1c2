"""Whatever an application chooses for its names, looking at it ends, and its texts stay texts."""

import json
import os
import subprocess
import sys
import types

import hostile
import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _files
from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._criu import command, examination, seen, view
from ansible_collections.kup.fleet.plugins.module_utils._system import mountinfo, processes, smaps, sockets

# Takes the names that it is given, one after the other, for itself and for a file that it opens and maps.
CHILD = """
import ctypes, mmap, os, sys
held = None
for line in sys.stdin.buffer:
    name = bytes.fromhex(line.decode())
    ctypes.CDLL(None).prctl(15, name[:15], 0, 0, 0)  # PR_SET_NAME
    path = name.replace(b"/", b"_")
    with open(path, "w+b") as stream:
        stream.write(bytes(4096))
        stream.flush()
        kept, held = held, (os.dup(stream.fileno()), mmap.mmap(stream.fileno(), 4096))
        if kept:
            os.close(kept[0])
    print("ready", flush=True)
"""


@pytest.fixture
def child(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", CHILD],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:

        def take(name):
            process.stdin.write(name.hex().encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"ready\n"
            return processes.Process(process.pid)

        yield take
        process.stdin.close()


@pytest.fixture
def unit(monkeypatch):
    """Makes a unit of one process; what only root may read of the host is replaced."""

    def make(one):
        host = {kind: one.namespace(kind) for kind in ("pid", "net", "user", "mnt", "ipc")}
        around = seen.Around(one.pid, one.cgroup, {}, host, frozenset(["00:01"]))
        monkeypatch.setattr(seen, "around", lambda unit, criu: around)
        return types.SimpleNamespace(
            name="a.service", main_pid=one.pid, main=one, own_mounts=False, cgroup=one.cgroup, processes=[one]
        )

    return make


@pytest.mark.parametrize(
    "name", [b"a\rVmSwap:x", b"x\nVmSwap:\tx kB", b"a\x0cb", "\u2028".encode(), *hostile.names(3, 40)]
)
def test_a_process_and_its_files_may_have_any_name(child, unit, name):
    one = child(name)
    assert one.size("VmSwap") == 0
    assert one.parent == os.getpid()
    found = examination.examine(unit(one))
    assert {blocker.code for blocker in found.blockers} <= {"shared-pipe"}
    for blocker in found.blockers:
        assert blocker.sentence().isprintable()
        json.dumps(blocker.as_dict()).encode()
    assert any(mapping.path.startswith("/") for mapping in seen.mappings(one, False))


def test_a_sentence_is_one_line_for_any_name():
    for name in hostile.names(4):
        blocker = Blocker("odd-file", os.fsdecode(name), "is odd", "close it", process=os.fsdecode(name))
        assert all(text.isprintable() for text in blocker.as_dict().values())


def test_mounts_of_a_view_may_have_any_name(proc):
    proc(rows(b"30 1 0:28 / /var/lib/", b" rw shared:1 - tmpfs tmpfs rw") + [b"", b"x", b"1 2 3 4 5"])
    properties = {"BindPaths": "", "BindReadOnlyPaths": "/a: b:c : -"}
    view.look(types.SimpleNamespace(main=processes.Process(os.getpid()), definition=str, properties=properties))


def rows(before, after, escape=b" \t\n\\"):
    return [before + hostile.escaped(name, escape) + after for name in hostile.names(5)]


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """Makes every file that is read have these rows, whatever its name."""

    def hold(lines):
        (tmp_path / "file").write_bytes(b"\n".join(lines) + b"\n")
        text = _files.read_text(str(tmp_path / "file"))
        for module in (seen, examination, mountinfo, sockets, processes, command):
            for name, value in (("read_text", text), ("read_lines", text.split("\n")), ("each_line", text.split("\n"))):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, lambda path, *rest, value=value: value)
        return text

    return hold


def test_a_mount_may_have_any_name(proc):
    proc(
        [
            *rows(b"30 1 0:28 / /mnt/", b" rw shared:1 - tmpfs tmpfs rw"),
            *rows(b"31 1 0:29 / /x rw - fuse.x ", b" rw"),
            b"",
            b"x",
        ]
    )
    assert seen._volatile_devices() == {"00:1c"}


def test_rows_of_mappings_may_have_any_text(proc):
    one = types.SimpleNamespace(path="/proc/7")
    proc(rows(b"7f00-7f01 rw-p 00000000 00:1c 7                      /", b"", b"\n"))
    assert {mapping.device for mapping in seen.mappings(one, False)} == {"00:1c"}
    text = proc(rows(b"7f0000-7f1000 rw-p 00000000 00:1c 7    /", b"\nSwap:   4 kB", b"\n"))
    assert set(smaps.areas(text.split("\n"), "Swap")) == {(0x7F0000, 0x7F1000, 4)}


def test_a_log_of_criu_may_have_any_bytes(proc, tmp_path):
    for name in hostile.names(6, 50):
        proc(
            [
                b"(00.1) 7: Warn x",
                b"(00.2) 7: Error (criu/x.c:1): Can't open " + name.replace(b"\n", b""),
                b"(00.3) Error 2",
            ]
        )
        said = command.complaint(str(tmp_path), "dump", 1)
        assert said.isprintable()
        assert said.startswith("(00.2) 7: Error")


def test_a_control_group_may_have_any_name(proc):
    for name in hostile.names(8, 50):
        path = b"/a.service/" + name.replace(b"\n", b"").replace(b"/", b"_")
        proc([b"4:memory:/x::y", b"0::" + path])
        assert processes.Process(7).cgroup == path.decode("utf-8", "replace")


def test_what_is_no_row_of_a_table_is_no_socket(proc):
    one = types.SimpleNamespace(path="/proc/7", namespace=lambda kind: "", descriptors=lambda: [(3, "socket:[7]")])
    right = b"0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1"
    for cut in range(len(right)):
        proc([b"sl", right[:cut]])
        assert bool(sockets.Tables().of(one)) == (cut > len(right) - 3)


def test_any_bytes_of_a_name_reach_the_disk_as_they_are(tmp_path):
    for name in hostile.names(9, 20):
        _files.write_file(str(tmp_path / "file"), os.fsdecode(name))
        assert (tmp_path / "file").read_bytes() == name
