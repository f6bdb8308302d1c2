"""What a kernel needs to mount the root file system."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import root_device


@pytest.fixture
def root(monkeypatch, tmp_path):
    """A root on the second partition of a disk, as findmnt tells of it without the subvolume; ``others``: devices of its file system."""

    def make(kind, others=()):
        asked = []
        monkeypatch.setattr(
            root_device,
            "run",
            lambda words: (
                asked.append(words) or types.SimpleNamespace(stdout=f"/dev/vda2                     {kind}\n")
            ),
        )
        device = tmp_path / "devices/vda/vda2"
        device.mkdir(parents=True)
        (device / "partition").touch()
        monkeypatch.setattr(root_device, "_has_own_usr", lambda: kind == "own-usr")
        monkeypatch.setattr(root_device.os, "stat", lambda path: types.SimpleNamespace(st_rdev=os.makedev(254, 2)))
        monkeypatch.setattr(root_device.os.path, "realpath", lambda path: str(device))
        monkeypatch.setattr(root_device.drivers, "chain", lambda path: {"virtio_blk"})
        members = tmp_path / "members"
        members.mkdir()
        for name in ("vda2", *others):
            (members / name).touch()
        monkeypatch.setattr(
            root_device.glob,
            "glob",
            lambda pattern: [str(members / os.path.basename(pattern))] if kind == "btrfs" else [],
        )
        return asked

    return make


@pytest.mark.parametrize("kind", ["ext4", "btrfs"])
def test_a_partition_of_a_disk(root, kind):
    asked = root(kind)
    assert root_device.needed_modules() == {"virtio_blk", kind}
    # Debian's installer puts / on the subvolume @rootfs.
    assert "--nofsroot" in asked[0]


def test_a_file_system_of_several_devices_is_no_plain_one(root):
    root("btrfs", others=("vdb2",))
    assert root_device.needed_modules() is None


def test_a_usr_of_its_own_needs_an_initramfs(root):
    root("own-usr")
    assert root_device.needed_modules() is None
    assert root_device.bare_root("7.2") is None
