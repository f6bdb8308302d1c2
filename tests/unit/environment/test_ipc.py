"""System V objects of units in the boot plan, and what stays in CRIU's images."""

import struct
import types

import pytest
from environment.test_core_image import field

from ansible_collections.kup.fleet.plugins.module_utils._environment import ipc, plan
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import sysv

SEGMENT = sysv.Object("shm", 7, frozenset(), frozenset(), 4660, 0o3640, (1, 2, 3, 4), 5000, attached=2, pids=(99,))
MEMORY = sysv.Object("shm", 8, frozenset(), frozenset(), 0, 0o600, (0, 0, 0, 0), 100, pids=(98,))
SEMAPHORES = sysv.Object("sem", 9, frozenset(), frozenset(), -1, 0o600, (1, 1, 1, 1), 2)
QUEUE = sysv.Object("msg", 10, frozenset(), frozenset(), 5, 0o622, (1, 1, 0, 0), 30, pids=(11, 12), messages=1)


def entry(number):
    # images/ipc-desc.proto: key, uid, gid, cuid, cgid, mode, id
    desc = b"".join(field(place, value) for place, value in enumerate((4660, 1, 2, 3, 4, 0o640, number), 1))
    message = field(1, desc) + field(2, 5000) + field(3, 1)
    return struct.pack("<I", len(message)) + message


def image(*numbers):
    return ipc._MAGICS + b"".join(entry(number) for number in numbers)


@pytest.fixture
def images(tmp_path):
    directory = tmp_path / "images[1]"
    directory.mkdir()
    (directory / "ipcns-shm-9.img").write_bytes(image(6, 7, 1 << 30))
    for name in ("ipcns-msg-9.img", "ipcns-sem-9.img", "ipcns-var-9.img", "pages-1.img"):
        (directory / name).write_bytes(b"x")
    return directory


def test_other_objects_are_removed_from_the_images(images):
    ipc.keep(str(images), {7, 1 << 30})
    assert (images / "ipcns-shm-9.img").read_bytes() == image(7, 1 << 30)
    assert {path.name for path in images.iterdir()} == {"ipcns-shm-9.img", "ipcns-var-9.img", "pages-1.img"}


def test_a_segment_that_the_images_lack(images):
    with pytest.raises(KupError, match=r"lack the System V shared memory segments \[8\]"):
        ipc.keep(str(images), {7, 8})


@pytest.mark.parametrize("content", [b"", image(7)[:-1], image(7) + b"\1", b"x" * 20, ipc._MAGICS + b"\0\0\0\0"])
def test_broken_images_are_refused(images, content):
    (images / "ipcns-shm-9.img").write_bytes(content)
    with pytest.raises(KupError, match="not as CRIU writes it"):
        ipc.keep(str(images), {7})


def checkpoint(name, images, segments=False):
    unit = types.SimpleNamespace(name=name, cgroup=f"/{name}")
    return types.SimpleNamespace(unit=unit, directory=str(images), findings=types.SimpleNamespace(segments=segments))


@pytest.fixture
def write(monkeypatch, tmp_path, images):
    """Write the plan of units with these unattached objects, the first of which has SEGMENT attached."""

    def write(twin="", content=lambda thing: thing.kind.encode(), **objects):
        monkeypatch.setattr(ipc.segments, "attached", lambda unit: frozenset({7}))
        monkeypatch.setattr(ipc.segments, "same_numbers", lambda several, numbers: twin)
        monkeypatch.setattr(ipc.processes, "in_cgroup", lambda path: [])
        monkeypatch.setattr(ipc.sysv, "segments", lambda: [SEGMENT, MEMORY])
        monkeypatch.setattr(ipc.sysv, "content", content)
        monkeypatch.setattr(ipc.sysv, "capacity", lambda thing: 16384)
        monkeypatch.setattr(ipc.seen, "ipc_objects", lambda unit, host: objects[unit.name])
        plans = plan.Plans(f"{tmp_path}/environment")
        found = ipc.put_plan(plans, [checkpoint(name, images, name == "a") for name in objects])
        path = tmp_path / "environment/3-ipc.plan"
        return found, path.read_text().splitlines()[1:] if path.exists() else []

    return write


def test_objects_of_several_units(write, tmp_path, images):
    found, steps = write(a=[MEMORY, QUEUE], b=[SEMAPHORES, QUEUE])
    assert steps == [
        "segment optional a 7",
        "memory required a 8 0 600 0 0 0 0 100 98 1",
        "queue required a 10 5 622 1 1 0 0 16384 11 12 2",
        "semaphores required b 9 4294967295 600 1 1 1 1 2 3",
    ]
    contents = [(tmp_path / f"environment/contents/{number}").read_bytes() for number in (1, 2, 3)]
    assert contents == [b"shm", b"msg", b"sem"]
    # The queue is of both: where one starts fresh it stays.
    assert found == {
        "ipc-a": b"kup-environment 1\nsettle optional a 7 memory 4660 3640\nsettle optional a 8 memory 0 600\n",
        "ipc-b": b"kup-environment 1\nsettle optional b 9 semaphores 4294967295 600\n",
    }
    assert (images / "ipcns-shm-9.img").read_bytes() == image(7)


def test_a_unit_without_any(write, images):
    assert write(b=[]) == ({}, [])
    assert (images / "ipcns-sem-9.img").exists()


def test_what_has_grown_is_refused(write):
    large = sysv.Object("msg", 10, frozenset(), frozenset(), size=(64 << 20) + 1)
    with pytest.raises(KupError, match="b: its System V queues and unattached segments have grown to 64 MiB"):
        write(b=[large])


def test_a_number_that_has_become_ambiguous_is_refused(write):
    with pytest.raises(KupError, match="has the number of /memfd:x, which CRIU takes for the same"):
        write(twin="/memfd:x", a=[])


def test_an_object_that_cannot_be_read_is_named(write):
    def content(thing):
        raise OSError(38, "Function not implemented", f"the System V object {thing.kind} {thing.number}")

    with pytest.raises(KupError, match=r"b: the System V object msg 10 cannot be read: Function not implemented\."):
        write(content=content, b=[QUEUE])
