"""The engine ppp: what it refuses, and how memory comes back."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import base, page_daemon, ppp, registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import memory

ENGINE = ppp.Ppp()


def test_frames_survive_nothing_but_a_failed_restore():
    assert ENGINE.survives == {"restore_failure"}
    assert registry.ENGINES["foam"].survives == registry.ENGINES["criu"].survives == set(base.DANGERS)


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


def test_limits_that_are_a_share_of_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [])
    text = "[Service]\nMemoryMax=50%\nMemoryHigh=1G\n MemorySwapMax = 12.5%\nCPUQuota=50%\n"
    unit = types.SimpleNamespace(
        name="a.service",
        processes=[],
        own_mounts=False,
        definition=lambda: text,
        slices=lambda: {"b.slice": "MemoryMax=90%\n"},
    )
    found = ENGINE.unit_blockers(unit)
    assert [(blocker.code, blocker.unit, blocker.object) for blocker in found] == [
        ("relative-memory-limit", "a.service", "MemoryMax=50% in a.service"),
        ("relative-memory-limit", "a.service", "MemorySwapMax = 12.5% in a.service"),
        ("relative-memory-limit", "a.service", "MemoryMax=90% in b.slice"),
    ]


@pytest.mark.parametrize(("locked", "resident", "refused"), [(300, 400, True), (100, 400, False), (4096, 100, False)])
def test_locked_memory_is_counted_as_far_as_it_is_there(monkeypatch, locked, resident, refused):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [])
    monkeypatch.setattr(ppp, "_copies", lambda unit: 0)
    sizes = {"VmLck": locked << 19, "VmRSS": resident << 19}
    # Two processes with half of it each.
    unit = types.SimpleNamespace(
        name="a.service", processes=[types.SimpleNamespace(size=sizes.get)] * 2, definition=lambda: "", slices=dict
    )
    assert [blocker.code for blocker in ENGINE.unit_blockers(unit)] == ["locked-memory"] * refused


@pytest.mark.parametrize(("free", "refused"), [(197, True), (198, False)])
def test_copies_of_shared_pages_need_room(monkeypatch, tmp_path, free, refused):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [])
    monkeypatch.setattr(memory, "available", lambda: free << 20)
    processes = []
    # 99 MiB that three processes share, and 10 that each has for itself.
    for name in "abc":
        (tmp_path / name).mkdir()
        shares = f"Pss_Anon: {(99 << 10) // 3 + (10 << 10)} kB\n"
        (tmp_path / name / "smaps_rollup").write_text(f"Rss: 300000 kB\n{shares}Anonymous: {109 << 10} kB\n")
        processes.append(types.SimpleNamespace(path=str(tmp_path / name), size=lambda field: 0))
    unit = types.SimpleNamespace(name="a.service", processes=processes, definition=lambda: "", slices=dict)
    found = ENGINE.unit_blockers(unit)
    assert [(blocker.code, blocker.unit) for blocker in found] == [("shared-copies", "a.service")] * refused
    unit.processes = processes[:1]
    assert ENGINE.unit_blockers(unit) == []


def test_swapped_pages_without_room_are_refused(monkeypatch):
    monkeypatch.setattr(ppp.swap, "blockers", lambda unit: [f"No room for {unit.name}."])
    unit = types.SimpleNamespace(name="a.service", processes=[], own_mounts=False, definition=lambda: "", slices=dict)
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
