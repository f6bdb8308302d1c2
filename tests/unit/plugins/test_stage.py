# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With ``auto``, an engine that cannot be prepared on the node gives way to the next."""

import contextlib
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import EngineError, KupError
from ansible_collections.kup.fleet.plugins.modules import kup_stage

WANTED = {
    "kernel": "7.2.1",
    "units": ["a"],
    "on_unit_failure": "fall_back",
    "unit_policies": {},
    "engine": "auto",
    "ppp_disk_checkpoint": "none",
    "survive": ["restore_failure"],
    "images_dir": "/images",
    "initramfs": "auto",
    "run_id": "run",
    **dict.fromkeys(kup_stage.RECORDED, 1),
}


@pytest.fixture
def staged(monkeypatch):
    """Engines that were staged, in order; ``broken``: error of each that cannot be prepared."""
    found = types.SimpleNamespace(engines=[], broken={})

    def stage(kernel, names, settings, *, initramfs, owner):
        found.engines.append(settings["ENGINE"])
        if settings["ENGINE"] in found.broken:
            raise found.broken[settings["ENGINE"]]
        return True

    monkeypatch.setattr(kup_stage.staging, "stage", stage)
    monkeypatch.setattr(kup_stage.lock, "exclusive", contextlib.nullcontext)
    monkeypatch.setattr(kup_stage.node_kernels, "running", lambda: "6.12.1")
    monkeypatch.setattr(kup_stage.units, "full_names", lambda names: [f"{name}.service" for name in names])
    monkeypatch.setattr(kup_stage.units, "Unit", str)
    monkeypatch.setattr(registry, "_blockers", lambda *arguments: [])
    monkeypatch.setattr(registry.direct, "packages", list)
    for engine in registry.ENGINES.values():
        monkeypatch.setattr(type(engine), "packages", lambda self, kernels: [])
        monkeypatch.setattr(type(engine), "unit_blockers", lambda self, unit: [])
    return found


def test_the_next_engine_is_taken_and_the_reason_told(staged):
    staged.broken["ppp"] = EngineError("'make' failed: no compiler.")
    assert kup_stage.stage(WANTED, check_mode=False) == (
        True,
        (
            "Engine ppp: It could not be prepared: 'make' failed: no compiler; "
            "look at that, or name another engine in kup_engine.",
        ),
    )
    assert staged.engines == ["ppp", "foam"]


def test_an_engine_that_was_named_is_refused(staged):
    staged.broken["ppp"] = EngineError("'make' failed.")
    with pytest.raises(KupError, match="'make' failed"):
        kup_stage.stage({**WANTED, "engine": "ppp"}, check_mode=False)
    assert staged.engines == ["ppp"]


def test_what_is_no_fault_of_the_engine_is_refused(staged):
    staged.broken["ppp"] = KupError("Another run has the node.")
    with pytest.raises(KupError, match="Another run"):
        kup_stage.stage(WANTED, check_mode=False)
    assert staged.engines == ["ppp"]


def test_there_is_an_end(staged):
    staged.broken |= dict.fromkeys(registry.ENGINES, EngineError("No room."))
    with pytest.raises(
        KupError, match=r"Engine ppp: It could not.*Engine foam: It could not.*Engine criu: It could not"
    ):
        kup_stage.stage(WANTED, check_mode=False)
    assert staged.engines == list(registry.ENGINES)
