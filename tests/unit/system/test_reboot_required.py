# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What packages say of a reboot, in the files of Debian and Ubuntu."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import reboot_required


@pytest.fixture
def flag(tmp_path, monkeypatch):
    monkeypatch.setattr(reboot_required, "FLAG", str(tmp_path / "reboot-required"))
    monkeypatch.setattr(reboot_required, "PACKAGES", str(tmp_path / "reboot-required.pkgs"))
    return tmp_path / "reboot-required"


def test_no_file_no_reboot(flag):
    assert reboot_required.look() == {"required": False, "packages": [], "microcode": False}


def test_a_package_that_was_upgraded_twice_is_named_once(flag):
    # As update-notifier-common's hook writes them.
    flag.write_text("*** System restart required ***\n")
    flag.with_name("reboot-required.pkgs").write_text("linux-image-6.8.0-45-generic\nlinux-base\nlibc6\nlibc6\n\n")
    assert reboot_required.look() == {
        "required": True,
        "packages": ["libc6", "linux-base", "linux-image-6.8.0-45-generic"],
        "microcode": False,
    }


@pytest.mark.parametrize("name", ["intel-microcode", "amd64-microcode"])
def test_microcode(flag, name):
    flag.touch()
    flag.with_name("reboot-required.pkgs").write_text(f"{name}\n")
    assert reboot_required.look()["microcode"]


def test_names_are_bounded_and_printable(flag):
    flag.with_name("reboot-required.pkgs").write_text(
        "\x1b[2J\n" + "x" * 5000 + "\n" + "".join(f"p{n}\n" for n in range(1000))
    )
    found = reboot_required.look()["packages"]
    assert len(found) == 100
    assert max(map(len, found)) == 200
    assert "\\x1b[2J" in found
