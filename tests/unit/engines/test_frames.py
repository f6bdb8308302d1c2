"""Page frames that are kept: where the next kernel is loaded, and how many pieces it can take."""

import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec as kexec_tool
from ansible_collections.kup.fleet.plugins.module_utils._engines import frames
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


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
    monkeypatch.setattr(
        kexec_tool, "load_summed", lambda *arguments: called.append(kexec_tool.load_command(*arguments))
    )

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
