"""Directories for the temporary files of restored units: real mounts, as root."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._files import read_text
from ansible_collections.kup.fleet.plugins.module_utils._system.private_places import Place
from ansible_collections.kup.fleet.plugins.module_utils._update import private_tmp

BOOT = read_text("/proc/sys/kernel/random/boot_id").strip().replace("-", "")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Where the directories are made."""
    monkeypatch.setattr(private_tmp, "PRIVATE_TMP", f"{tmp_path}/state/systemd-private-")
    monkeypatch.setattr(private_tmp.private_places, "TEMPORARY", (str(tmp_path / "temporary"),))
    (tmp_path / "state").mkdir()
    (tmp_path / "temporary").mkdir()
    return tmp_path / "state"


@pytest.fixture
def provide(monkeypatch):
    """Make the directories for a unit with these places."""

    def provide(*places):
        monkeypatch.setattr(private_tmp.private_places, "of", lambda unit: list(places))
        return private_tmp.provide(types.SimpleNamespace())

    return provide


def test_new_directories_take_the_place_of_those_in_memory(state, provide):
    found = provide(Place("/tmp"), Place("/var/tmp"), Place("/srv/x", is_bound=False))
    (made,) = state.iterdir()
    assert found == [f"{made}/tmp:/tmp", f"{made}/var-tmp:/var/tmp"]
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_directories_on_a_disk_are_kept(state, provide):
    assert provide(Place("/var/tmp", "/var/tmp/systemd-private-1/tmp")) == ["/var/tmp/systemd-private-1/tmp:/var/tmp"]
    assert [*state.iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mounts")
def test_what_nobody_uses_is_removed(state, inside, tmp_path):
    for name in ("systemd-private-a", "systemd-private-b", "other"):
        (state / name / "tmp").mkdir(parents=True)
    used, now = (f"systemd-private-{boot}-a.service-Ab0_" for boot in ("0" * 32, BOOT))
    strange = f"systemd-private-{'0' * 32}-a\\x2d.service-x"
    left = {used, now, strange, "systemd-private-0", "other"}
    for name in (*left, f"systemd-private-{'0' * 32}-b@1.service-x", f"systemd-private-{'1' * 32}-c.service-x"):
        (tmp_path / "temporary" / name / "tmp").mkdir(parents=True)
    inside(f"mount --bind {state}/systemd-private-b/tmp /mnt; mount --bind {tmp_path}/temporary/{used}/tmp /srv")
    private_tmp.remove_unused()
    assert {path.name for path in state.iterdir()} == {"systemd-private-b", "other"}
    assert {path.name for path in (tmp_path / "temporary").iterdir()} == left
