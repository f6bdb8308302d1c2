# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much memory a crash kernel gets, what it finds beside the preserved kernel, and that it goes at the commit."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import crash_kernel, forward, kexec, load_window
from ansible_collections.kup.fleet.plugins.module_utils._system import memory
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

MIB = 1 << 20


def image(mib):
    """An image that unpacks to so many MiB."""
    return bytes(0x260) + (mib * MIB).to_bytes(4, "little")


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A directory with a staged kernel of 10 MiB; what the machine says is in `machine`."""
    files = {"/proc/cmdline": "root=/dev/sda quiet"}
    monkeypatch.setattr(memory, "available", lambda: 4 << 30)
    original = crash_kernel.read_text
    monkeypatch.setattr(
        crash_kernel,
        "read_text",
        lambda path, default=None: files[path] if path in files else original(path, default),
    )
    firmware = tmp_path / "firmware"
    for number, kind in enumerate(["System RAM", "Reserved"]):
        (firmware / str(number)).mkdir(parents=True)
        for name, text in (("start", hex(number << 20)), ("end", hex((number + 1 << 20) - 1)), ("type", kind)):
            (firmware / str(number) / name).write_text(text + "\n")
    monkeypatch.setattr(crash_kernel, "_FIRMWARE", str(firmware))
    monkeypatch.setattr(load_window, "ram", lambda: [(0, 1 << 30)])
    place = tmp_path / "6.12"
    place.mkdir()
    (place / "vmlinuz").write_bytes(image(36))
    (place / "staged").write_text("1 2 none\n")
    (place / "cmdline").write_text("root=/dev/sda default_hugepagesz=1G hugepagesz=1G hugepages=64 rw quiet\n")
    return place, files


def test_room_for_the_kernel_and_twice_for_the_one_that_it_loads(node):
    place, _files = node
    assert crash_kernel.room(str(place)) == f"crashkernel={224 << 10}K@0"  # 96 + 3 x (36 + 4), in whole 16 MiB
    (place / "initrd").write_bytes(bytes(20 * MIB))
    (place / "patched").write_bytes(image(37))
    assert crash_kernel.room(str(place)) == f"crashkernel={288 << 10}K@0"


def test_none_under_lockdown(node):
    place, files = node
    files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality"
    assert crash_kernel.room(str(place)) == ""


def test_what_the_kernel_is_told_is_left_out_of_the_next_ones_line(node):
    word = crash_kernel.room(str(node[0]))
    assert word not in kexec.command_line(f"root=/dev/sda {word}").split()
    assert "crashkernel=256M" in kexec.command_line("root=/dev/sda crashkernel=256M").split()


def test_only_the_new_kernel_is_told():
    record = Record(KERNEL_OLD="6.12", KERNEL_NEW="7.2", CRASHKERNEL="crashkernel=1K@0")
    assert forward.words(record, "7.2") == "crashkernel=1K@0"
    assert forward.words({**record, "FIRST_PROCESS": "init=/x"}, "7.2") == "crashkernel=1K@0 init=/x"
    assert forward.words({**record, "FIRST_PROCESS": "init=/x"}, "6.12") == ""


@pytest.mark.parametrize("word", ["crashkernel=256M", "crashkernel=1G-:256M", "crashkernel=64M@16M"])
def test_the_operators_crash_kernel_is_left_alone(node, word):
    place, files = node
    files["/proc/cmdline"] += f" {word}"
    assert crash_kernel.room(str(place)) == ""


def test_one_of_ours_is_none_of_the_operators(node):
    place, files = node
    files["/proc/cmdline"] += " crashkernel=163840K@0"
    assert crash_kernel.room(str(place)) == f"crashkernel={224 << 10}K@0"


@pytest.mark.parametrize(("top", "available"), [(1, 448), (8, 448 + 512)])
def test_none_where_it_would_take_more_than_half(node, monkeypatch, top, available):
    """Where there is memory above 4 GiB, 256 MiB more may be taken."""
    place, _files = node
    monkeypatch.setattr(load_window, "ram", lambda: [(0, top << 30)])
    monkeypatch.setattr(memory, "available", lambda: available << 20)
    assert crash_kernel.room(str(place)) == f"crashkernel={224 << 10}K@0"
    monkeypatch.setattr(memory, "available", lambda: (available << 20) - 2048)
    assert crash_kernel.room(str(place)) == ""


def test_what_it_finds(node):
    place, _files = node
    assert crash_kernel.provide_files(str(place))
    line = (place / "crash-cmdline").read_text().split()
    assert line[:3] == ["root=/dev/sda", "rw", "quiet"]
    assert "init=/usr/local/lib/kup/crash/crashed" in line
    assert (place / "memmap" / "1" / "type").read_text() == "Reserved\n"
    assert (place / "memmap" / "1" / "start").read_text() == "0x100000\n"
    assert (place / "window").read_text().startswith("--kexec-syscall --mem-min=0x")
    assert not crash_kernel.provide_files(str(place))
    (place / "cmdline").write_text("root=/dev/sdb\n")
    assert crash_kernel.provide_files(str(place))


def test_the_commit_disarms_it(node, tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(crash_kernel, "run", lambda argv, check=True: ran.append(argv))
    for name, text in (("_LOADED", "1\n"), ("_SIZE", "167772160\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(crash_kernel, name, str(tmp_path / name))
    crash_kernel.disarm(Record())
    assert (ran, (tmp_path / "_SIZE").read_text()) == ([], "167772160\n")
    crash_kernel.disarm(Record(CRASHKERNEL="crashkernel=1K@0"))
    assert ran[1:] == [["kexec", "--load-panic", "--unload"]]
    assert (tmp_path / "_SIZE").read_text() == "0"
