# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lock belongs into a directory that outlives the run."""

from __future__ import annotations

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _lock_place


@pytest.fixture
def root(tmp_path):
    """A root directory, on the device of the lock's."""
    (tmp_path / "root/proc/self").mkdir(parents=True)
    (tmp_path / "root/run").mkdir()
    (tmp_path / "root/proc/self/mounts").write_text(
        "none / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n"
    )
    (tmp_path / "lock").mkdir()
    return tmp_path / "root"


def check(root):
    _lock_place.check(str(root.parent / "lock"), root)


def test_a_directory_on_a_disk_is_good(root):
    check(root)
    _lock_place.check("", root)


@pytest.mark.parametrize("place", ["lock", "/not/there", "/etc/hostname"])
def test_what_is_no_directory_is_refused(root, place):
    with pytest.raises(
        KupError, match=rf"^kup_lock is '{place}', expected the absolute path of a directory that exists"
    ):
        _lock_place.check(place, root)


@pytest.mark.parametrize("mark", ["run/.containerenv", ".dockerenv"])
def test_a_directory_of_a_container_is_refused(root, mark):
    (root / mark).touch()
    with pytest.raises(KupError, match="goes away with it; expected a directory that all runs share"):
        check(root)


@pytest.mark.parametrize("kind", ["overlay", "tmpfs"])
def test_a_directory_on_a_root_that_passes_is_refused(root, kind):
    (root / "proc/self/mounts").write_text(f"{kind} / {kind} rw 0 0\n")
    with pytest.raises(KupError, match="goes away with it"):
        check(root)


def test_a_volume_in_a_container_is_good(root):
    (root / ".dockerenv").touch()
    assert os.stat("/proc").st_dev != os.stat(root).st_dev
    _lock_place.check("/proc", root)


def test_what_belongs_to_a_job_is_refused_also_behind_a_link(root, monkeypatch):
    (root.parent / "job/lock").mkdir(parents=True)
    (root.parent / "link").symlink_to("job/lock")
    monkeypatch.setattr(_lock_place, "_OF_A_JOB", str(root.parent / "job"))
    for place in ("job", "job/lock", "link"):
        with pytest.raises(KupError, match="goes away with it"):
            _lock_place.check(str(root.parent / place), root)
    check(root)


def test_a_report_that_goes_away_is_said_to(root, monkeypatch):
    place = str(root.parent / "job/project/kup-report")
    assert _lock_place.report_objection(place, root) == ""
    monkeypatch.setattr(_lock_place, "_OF_A_JOB", str(root.parent / "job"))
    said = _lock_place.report_objection(place, root)
    assert (
        said.startswith(f"kup_report_dir is {place!r}, which belongs to this container or job")
        and "mount a volume" in said
    )
    assert _lock_place.report_objection(str(root.parent / "srv/kup-report"), root) == ""
    (root / ".dockerenv").touch()
    assert _lock_place.report_objection(str(root.parent / "srv/kup-report"), root)
    assert _lock_place.report_objection("/proc/kup-report", root) == ""


def test_the_owner_has_the_job_of_awx(monkeypatch):
    monkeypatch.setenv("JOB_ID", "7")
    monkeypatch.delenv("AWX_HOST", raising=False)
    assert "AWX" not in _lock_place.owner()
    monkeypatch.setenv("AWX_HOST", "https://awx.example.net")
    assert _lock_place.owner().endswith(", AWX job 7")

    def unknown():
        raise KeyError("uid")

    monkeypatch.setattr(_lock_place.getpass, "getuser", unknown)
    assert _lock_place.owner().startswith(f"{os.getuid()}@")
