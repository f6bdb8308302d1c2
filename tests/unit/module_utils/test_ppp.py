"""Pure parts of the engine ppp: CRIU's empty parent, what a kernel needs, and how kernels are loaded."""

import pathlib
import re
import struct
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec as kexec_tool
from ansible_collections.kup.fleet.plugins.module_utils._engines import frames, page_daemon, ppp, registry
from ansible_collections.kup.fleet.plugins.module_utils._engines import kmod as ppp_module
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import memory

ENGINE = ppp.Ppp()


def test_the_parent_is_an_inventory_without_pages():
    image = ppp.inventory(300)
    magic, size = struct.unpack_from("<II", image)
    assert (magic, size) == (0x58313116, len(image) - 8)
    # img_version 2, fdinfo_per_id, ns_per_id, dump_uptime, pre_dump_mode splice
    assert image[8:] == bytes([8, 2, 16, 1, 32, 1, 64, 0xAC, 2, 72, 1])


@pytest.mark.parametrize(("release", "fits"), [("6.1.0-44-amd64", True), ("5.10.0-30-amd64", False), ("7.2.1", True)])
def test_kernels_that_the_module_knows(release, fits):
    assert (not ENGINE.kernel_blockers(release, daemon=False)) == fits


@pytest.fixture(autouse=True)
def no_module(monkeypatch):
    monkeypatch.setattr(ppp_module, "installed", lambda release: None)


def test_a_kernel_without_headers(monkeypatch):
    monkeypatch.setattr(ppp_module, "headers", lambda release: release != "7.2.1-cloud-amd64")
    assert ENGINE.kernel_blockers("6.12.1-cloud-amd64", daemon=True) == []
    assert ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=False) == []
    (blocker,) = ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=True)
    assert (blocker.code, blocker.object) == ("kernel-headers", "Kernel 7.2.1-cloud-amd64")
    assert blocker.sentence().endswith("install linux-headers-7.2.1-cloud-amd64.")
    monkeypatch.setattr(ppp_module, "installed", lambda release: "/lib/modules/x.ko")
    assert ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=True) == []
    assert ppp_module.packages(["7.2.1-cloud-amd64"]) == []


def test_packages_are_asked_for_by_this_engine_only(monkeypatch):
    monkeypatch.setattr(ppp_module, "headers", lambda release: release == "6.12.1")
    monkeypatch.setattr(ppp_module.shutil, "which", lambda command: None)
    assert set(registry.packages("ppp", ["6.12.1", "7.2.1"])) >= {"linux-headers-7.2.1", "make"}
    assert registry.packages("foam", ["6.12.1", "7.2.1"]) == []
    assert registry.packages("auto", ["6.12.1", "7.2.1"]) == []


def test_auto_does_not_take_what_a_power_cut_loses():
    assert not ENGINE.survives_power_cut
    assert registry.ENGINES["foam"].survives_power_cut and registry.ENGINES["criu"].survives_power_cut


@pytest.fixture
def staged(tmp_path):
    (tmp_path / "cmdline").write_text("root=/dev/sda1 rw quiet\n")
    return tmp_path


def test_a_kernel_is_loaded_with_what_is_staged_beside_it(staged):
    command = kexec_tool.load_command(f"{staged}/patched", ["--kexec-syscall"], "kup_ppp.table=0x1000,0x2")
    assert command == [
        "kexec",
        "--kexec-syscall",
        "--load",
        f"{staged}/patched",
        "--command-line=root=/dev/sda1 rw quiet kup_ppp.table=0x1000,0x2",
    ]
    (staged / "initrd").write_text("")
    assert kexec_tool.load_command(f"{staged}/vmlinuz", [])[2:] == [
        f"{staged}/vmlinuz",
        "--command-line=root=/dev/sda1 rw quiet",
        f"--initrd={staged}/initrd",
    ]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine whose tools only note how they are called."""
    called = []
    monkeypatch.setattr(kexec_tool, "KERNELS", str(tmp_path))
    monkeypatch.setattr(frames.kernels, "running", lambda: "6.12.1")
    monkeypatch.setattr(frames.kmod, "load", lambda directory: called.append(["insmod", directory]))
    monkeypatch.setattr(frames.load_window, "ram", lambda: [(0x1000000, 0x40000000)])
    monkeypatch.setattr(frames.load_window, "occupied", lambda window: 0)
    monkeypatch.setattr(frames.load_window, "transient", lambda: [(0x50000000, 0x50002000)])
    monkeypatch.setattr(frames.kexec, "unload", lambda: called.append(["unload"]))
    monkeypatch.setattr(frames, "run", called.append)

    def ask(*words):
        called.append(list(words))
        return {"table": "0x5000,0x77", "frames": 300000, "runs": 150000}

    monkeypatch.setattr(frames.page_daemon, "ask", ask)
    for release, size in (("6.12.1", 0x2000000), ("7.2.1", 0x3000000)):
        place = tmp_path / release
        place.mkdir()
        (place / "patched").write_bytes(bytes(0x260) + struct.pack("<I", size))
        (place / "cmdline").write_text("quiet")
    return called


def test_the_window_is_kept_free_and_has_room_for_either_kernel(machine, tmp_path):
    text = frames.load("7.2.1", {"6.12.1", "7.2.1"}, 1 << 30)
    insmod, begin, unload, kexec = machine
    assert insmod == ["insmod", f"{tmp_path}/6.12.1"]
    assert unload == ["unload"]  # the loaded kernel takes memory that the other one may need
    start, end = (int(part, 16) for part in begin[2].split("-"))
    assert begin[:2] == ["begin", "--keep-out"]
    # For either kernel, and its list of what is kept: at 24 bytes, 50000 runs and one for every two pages.
    assert end - start >= 0x3000000 + 24 * (50000 + (1 << 17)) and start >= 0x1000000 and end <= 0x40000000
    assert begin[3:] == ["--keep-out", "50000000-50002000"]
    window = f"--kexec-syscall --mem-min={start:#x} --mem-max={end - 1:#x}"
    assert kexec[1:4] == window.split()
    assert kexec[-1] == "--command-line=quiet kup_ppp.table=0x5000,0x77"
    # What the next boot's shell reads.
    assert text == f"TABLE='0x5000,0x77'\nWINDOW='{window}'\n"


def test_more_pieces_than_the_next_kernel_has_room_for_are_refused(machine):
    assert frames.complete(200000 * 4096)["runs"] == 150000
    with pytest.raises(KupError, match="300000 page frames lie in 150000 pieces.*reserve 149999; use the engine foam"):
        frames.complete(199998 * 4096)


def test_the_module_is_built_again_only_if_something_has_changed(monkeypatch, tmp_path):
    source, place, made = tmp_path / "source", tmp_path / "place", []
    source.mkdir()
    place.mkdir()
    (source / "main.c").write_text("one")

    def make(command, timeout):
        made.append(command[-1])
        with open(f"{command[2]}/kup_ppp.ko", "w", encoding="ascii") as stream:
            stream.write("module")

    monkeypatch.setattr(ppp_module, "SOURCE", str(source))
    monkeypatch.setattr(ppp_module, "run", make)
    assert ppp_module.provide("7.2.1", str(place))
    assert not ppp_module.provide("7.2.1", str(place))
    (source / "main.c").write_text("two")
    assert ppp_module.provide("7.2.1", str(place))
    assert made == ["KERNEL=7.2.1"] * 2
    assert (place / "kup_ppp.ko").read_text() == "module"
    # One that is installed is not built.
    (tmp_path / "dkms.ko").write_text("installed")
    monkeypatch.setattr(ppp_module, "installed", lambda release: str(tmp_path / "dkms.ko"))
    assert ppp_module.provide("7.2.1", str(place))
    assert not ppp_module.provide("7.2.1", str(place))
    assert (place / "kup_ppp.ko").read_text() == "installed"
    assert len(made) == 2


@pytest.mark.parametrize(("version", "fits"), [("1.0", True), ("0.9", False), ("", False)])
def test_an_installed_module_must_be_of_this_version(monkeypatch, tmp_path, version, fits):
    monkeypatch.undo()
    (tmp_path / "kup_ppp.h").write_text('#define KUP_PPP_VERSION "1.0"\n')
    monkeypatch.setattr(ppp_module, "SOURCE", str(tmp_path))
    said = {"filename": "/lib/modules/7.2.1/updates/kup_ppp.ko\n" if version else "", "version": f"{version}\n"}
    monkeypatch.setattr(ppp_module, "run", lambda argv, check: types.SimpleNamespace(stdout=said[argv[4]]))
    assert bool(ppp_module.installed("7.2.1")) == fits


def test_the_version_is_the_one_that_dkms_is_told():
    kmod = pathlib.Path(__file__).resolve().parents[3] / "files/kmod"
    version = re.search(r'#define KUP_PPP_VERSION "(.*)"', (kmod / "kup_ppp.h").read_text(encoding="utf-8")).group(1)
    assert f'PACKAGE_VERSION="{version}"' in (kmod / "dkms.conf").read_text(encoding="utf-8")


def test_pages_that_are_shared_need_room_for_the_copies(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 40 << 20)
    ppp._check_copies({"pages": 30000, "frames": 20010, "own": 10})
    with pytest.raises(KupError, match="share 47 MiB copy-on-write.* only 40 MiB"):
        ppp._check_copies({"pages": 32032, "frames": 20010, "own": 10})


@pytest.mark.parametrize(
    ("wanted", "mib", "kernels", "complaint", "lazy"),
    [
        ("auto", 4096, ("6.12.1", "7.2.1"), "", True),
        ("auto", 100, ("6.12.1", "7.2.1"), "", False),
        ("lazy", 100, ("6.12.1", "7.2.1"), "", True),
        ("eager", 4096, ("6.12.1", "7.2.1"), "", False),
        # A fallback goes to the old one.
        ("auto", 4096, ("6.1.0-44", "6.12.1"), "", False),
        ("lazy", 4096, ("6.1.0-44", "6.12.1"), "", False),
        ("lazy", 4096, ("6.12.1", "7.2.1"), "No userfaultfd.", False),
    ],
)
def test_who_gets_memory_when_it_needs_it(unit_templates, monkeypatch, wanted, mib, kernels, complaint, lazy):
    monkeypatch.setattr(ppp.command, "check", lambda feature: complaint)
    unit = types.SimpleNamespace(name="cache.service", rss=mib << 20)
    settings = {"PPP_BIND": wanted, "KERNEL_OLD": kernels[0], "KERNEL_NEW": kernels[1]}
    checkpoint = ENGINE.checkpoint(unit, "/images", settings)
    text = "".join(checkpoint.services().values())
    assert ("serve --frames" in text) == lazy
    # After a cold start there is nothing to serve, and nobody is to start it again and again.
    assert ("ConditionPathExists=/dev/kup_ppp" in text) == lazy


def test_what_the_page_daemon_says_is_the_cause(monkeypatch):
    class Server:
        def finish(self):
            raise KupError("The disk is full.")

    assert str(page_daemon.with_cause(Server(), "CRIU failed")) == "CRIU failed (The disk is full.)"


def test_limits_that_are_a_share_of_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [])
    text = "[Service]\nMemoryMax=50%\nMemoryHigh=1G\n MemorySwapMax = 12.5%\nCPUQuota=50%\n"
    unit = types.SimpleNamespace(
        name="a.service", definition=lambda: text, slices=lambda: {"b.slice": "MemoryMax=90%\n"}
    )
    found = ENGINE.unit_blockers(unit)
    assert [(blocker.code, blocker.unit, blocker.object) for blocker in found] == [
        ("relative-memory-limit", "a.service", "MemoryMax=50% in a.service"),
        ("relative-memory-limit", "a.service", "MemorySwapMax = 12.5% in a.service"),
        ("relative-memory-limit", "a.service", "MemoryMax=90% in b.slice"),
    ]


def test_swapped_pages_without_room_are_refused(monkeypatch):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [f"No room for {unit.name}."])
    unit = types.SimpleNamespace(name="a.service", definition=lambda: "", slices=dict)
    assert ENGINE.unit_blockers(unit) == ["No room for a.service."]


@pytest.mark.parametrize(("huge", "late"), [(800, True), (750, False), (0, False)])
def test_soft_dirty_bits_are_cleared_in_the_freeze_where_page_tables_are_small(monkeypatch, tmp_path, huge, late):
    started, checked = [], []
    monkeypatch.setattr(ppp.command, "check", lambda feature: "")
    monkeypatch.setattr(ppp.swap, "check", checked.append)
    monkeypatch.setattr(
        page_daemon,
        "Server",
        lambda words: started.append(words) or types.SimpleNamespace(options=("--page-server",), socket=7),
    )
    process = types.SimpleNamespace(path=str(tmp_path))
    rollup = {"Rss": 1050, "AnonHugePages": huge, "ShmemPmdMapped": 10, "FilePmdMapped": 0}
    lines = "".join(f"{field}:   {mib << 10} kB\n" for field, mib in rollup.items())
    (tmp_path / "smaps_rollup").write_text(f"10-20 ---p [rollup]\n{lines}")
    unit = types.SimpleNamespace(name="cache.service", rss=0, processes=[process])
    monkeypatch.setattr(ppp, "Unit", lambda name: unit)
    checkpoint = ENGINE.checkpoint(
        unit, "/images", {"PPP_BIND": "eager", "KERNEL_OLD": "6.12.1", "KERNEL_NEW": "7.2.1"}
    )
    checkpoint.start_server()
    checkpoint.before_freeze()
    assert started == [["record", "--images-dir", "/images", *(["--clear-soft-dirty"] if late else [])]]
    # Else while the application serves.
    assert (tmp_path / "clear_refs").exists() != late
    assert checked == [unit]
