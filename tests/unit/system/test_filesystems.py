"""File systems: the one of a directory, and whether the next boot has it."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import filesystems


def test_a_directory_that_is_not_there_yet_is_judged_by_its_parent(tmp_path):
    assert filesystems.existing(f"{tmp_path}/a/b/c") == str(tmp_path)


def mounted(monkeypatch, text, fragment=""):
    monkeypatch.setattr(filesystems, "run", lambda command: types.SimpleNamespace(stdout=text))
    monkeypatch.setattr(filesystems, "show", lambda name, *properties: {"FragmentPath": fragment})


def test_of_stacked_mounts_the_last_counts(monkeypatch):
    mounted(monkeypatch, "/images systemd-1 autofs\n/images /dev/sdb1 ext4\n")
    assert filesystems.of("/images") == filesystems.FileSystem("/images", "/dev/sdb1", "ext4")


@pytest.mark.parametrize(
    ("text", "fragment", "fits"),
    [
        ("/ /dev/sda1 ext4\n", "", True),
        ("/images /dev/pmem0 ext4\n", "/run/systemd/generator/images.mount", True),
        ("/images /dev/pmem0 ext4\n", "", False),
        ("/run tmpfs tmpfs\n", "/usr/lib/systemd/system/run.mount", False),
        ("/images /dev/zram0 ext4\n", "/run/systemd/generator/images.mount", False),
    ],
)
def test_images_must_be_there_in_the_next_boot(monkeypatch, text, fragment, fits):
    mounted(monkeypatch, text, fragment)
    assert (filesystems.why_lost("/images") == "") == fits
