# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which device files somebody uses."""

import os
from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import device_users


def number(path):
    about = os.stat(path)
    return os.major(about.st_rdev), os.minor(about.st_rdev)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Nobody uses anything; /etc/fstab names what ``named`` says."""
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(device_users, "_PROC", str(tmp_path / "proc"))
    monkeypatch.setattr(device_users, "_LOOPS", str(tmp_path / "loop*"))
    named = []
    monkeypatch.setattr(device_users, "run", lambda _argv, **_more: SimpleNamespace(stdout="\n".join(named)))
    return SimpleNamespace(root=tmp_path, named=named)


def test_nobody(node):
    node.named += ["UUID=nowhere", "tmpfs", "/nowhere"]
    assert device_users.numbers() == set()


def test_what_processes_have_open(node):
    for name, target in {"0": "/dev/null", "1": str(node.root), "2": "socket:[1]"}.items():
        (node.root / "proc/7/fd").mkdir(parents=True, exist_ok=True)
        (node.root / "proc/7/fd" / name).symlink_to(target)
    (node.root / "proc/8").mkdir()
    (node.root / "proc/self").symlink_to("7")
    assert device_users.numbers() == {number("/dev/null")}


def test_what_loop_devices_are_made_of(node):
    (node.root / "loop0").write_text("/dev/zero\n")
    (node.root / "loop1").write_text(f"{node.root}/loop0\n")
    assert device_users.numbers() == {number("/dev/zero")}


def test_what_is_mounted_when_somebody_asks_for_it(node):
    node.named.append("/dev/full")
    assert device_users.numbers() == {number("/dev/full")}
