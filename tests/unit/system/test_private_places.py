"""Directories that only one unit sees: real mounts, as root."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import private_places
from ansible_collections.kup.fleet.plugins.module_utils._system.private_places import Place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mounts")


@pytest.fixture
def of(inside):
    """The places of a unit whose main process has run this script."""

    def of(script, temporary="", private_tmp="yes", own_mounts=True):
        properties = {"TemporaryFileSystem": temporary, "PrivateTmpEx": private_tmp}
        unit = types.SimpleNamespace(own_mounts=own_mounts, properties=properties, main=inside(script))
        return private_places.of(unit)

    return of


@pytest.fixture
def disk(tmp_path):
    """A directory as systemd makes it, on a disk."""
    made = tmp_path / "systemd-private-1-a.service-x"
    (made / "tmp").mkdir(parents=True)
    made.chmod(0o700)
    return made


def test_a_directory_on_a_disk_is_found_on_the_node(of, disk):
    assert of(f"mount --bind {disk}/tmp /var/tmp") == [Place("/var/tmp", f"{disk}/tmp")]


def test_what_others_could_have_put_there_is_copied(of, disk):
    script = f"mount --bind {disk}/tmp /var/tmp"
    disk.chmod(0o755)
    assert of(script) == [Place("/var/tmp")]
    disk.chmod(0o700)
    os.chown(disk, 1, 0)
    assert of(script) == [Place("/var/tmp")]
    os.chown(disk, 0, 0)
    disk.parent.chmod(0o777)
    assert of(script) == [Place("/var/tmp")]
    disk.parent.chmod(0o1777)
    assert of(script) == [Place("/var/tmp", f"{disk}/tmp")]


def test_what_has_gone_from_its_path_or_has_a_strange_one_is_copied(of, disk):
    script = f"mount --bind {disk}/tmp /var/tmp"
    strange = disk.parent / "systemd-private-a\\x2db"
    assert of(f"{script}; mv {disk} '{strange}'") == [Place("/var/tmp")]
    (disk / "tmp").mkdir(parents=True)
    disk.chmod(0o700)
    assert of(f"mount --bind '{strange}/tmp' /var/tmp") == [Place("/var/tmp")]


def test_a_directory_in_memory_is_copied(of):
    directory = f"/dev/shm/systemd-private-{os.getpid()}"
    script = f"mkdir -p {directory}/tmp; mount --bind {directory}/tmp /tmp; rm -d {directory}/tmp {directory}"
    assert of(script) == [Place("/tmp")]


@pytest.mark.parametrize(
    ("script", "temporary", "private_tmp", "found"),
    [
        ("mount -t tmpfs none /tmp", "", "yes", []),
        ("mount -t tmpfs none /tmp", "", "disconnected", [Place("/tmp", is_bound=False)]),
        ("mount -t tmpfs none /srv", "/srv:rw,size=1M /opt", "no", [Place("/srv", is_bound=False)]),
        ("mount -t tmpfs none /srv", "/srv/", "no", [Place("/srv", is_bound=False)]),
        ("mount -t tmpfs -o ro none /srv", "/srv:ro", "no", []),
        ("mount -t tmpfs none /srv", "/opt", "no", []),
        # Of the node's own memory.
        ("mount --bind /dev/shm /srv", "/srv", "no", []),
        ("mount -t tmpfs none /tmp; mount --bind /usr /tmp", "", "disconnected", []),
    ],
)
def test_file_systems_in_memory_that_systemd_makes(of, script, temporary, private_tmp, found):
    assert of(script, temporary, private_tmp) == found


def test_a_unit_without_mounts_of_its_own_has_none(of):
    assert of("mount -t tmpfs none /srv", "/srv", own_mounts=False) == []


def test_the_nearest_place_counts():
    places = [Place("/tmp"), Place("/tmp/a", "/x")]
    for path, point in {"/tmp": "/tmp", "/tmp/b": "/tmp", "/tmp/a/b": "/tmp/a", "/tmpfs": "", "/": ""}.items():
        found = private_places.below(places, path)
        assert (found.point if found else "") == point
