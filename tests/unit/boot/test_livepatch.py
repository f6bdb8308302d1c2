# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Live patches as sysfs shows them."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._boot import livepatch


def test_patches(tmp_path, monkeypatch):
    monkeypatch.setattr(livepatch, "_PATCHES", str(tmp_path / "livepatch"))
    assert livepatch.patches() == []
    for name, enabled, transition in (("lkp_b", "1", "1"), ("lkp_a", "0", "0"), ("gone", None, None)):
        directory = tmp_path / "livepatch" / name
        directory.mkdir(parents=True)
        if enabled:
            (directory / "enabled").write_text(f"{enabled}\n")
            (directory / "transition").write_text(f"{transition}\n")
    assert livepatch.patches() == [
        {"name": "gone", "enabled": False, "transition": False},
        {"name": "lkp_a", "enabled": False, "transition": False},
        {"name": "lkp_b", "enabled": True, "transition": True},
    ]
