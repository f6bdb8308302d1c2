"""Directories for the temporary files of restored units: real mounts, as root."""

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import view
from ansible_collections.kup.fleet.plugins.module_utils._update import private_tmp

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mounts")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Where the directories are made."""
    for module in (private_tmp, view):
        monkeypatch.setattr(module, "PRIVATE_TMP", f"{tmp_path}/state/systemd-private-")
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
def start(inside):
    """Start a process with these directories mounted: dict mount point → directory."""

    def start(**mounts):
        return inside("\n".join(f"mount --bind {mounts[name]} /{name.replace('_', '/')}" for name in mounts))

    return start


@pytest.fixture
def systemds(tmp_path):
    """A directory as systemd makes it."""
    directory = tmp_path / "systemd-private-1-a.service-x/tmp"
    directory.mkdir(parents=True)
    return directory


def test_new_directories_take_the_place_of_those_of_systemd(state, start, systemds):
    found = private_tmp.provide(start(var_tmp=systemds, tmp=systemds))
    (made,) = state.iterdir()
    assert found == [f"{made}/tmp:/tmp", f"{made}/var-tmp:/var/tmp"]
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_directories_of_a_restore_before_are_kept(state, start, systemds):
    first = private_tmp.provide(start(var_tmp=systemds))
    (made,) = state.iterdir()
    (made / "var-tmp/a").touch()
    assert private_tmp.provide(start(var_tmp=made / "var-tmp")) == first
    assert [*state.iterdir()] == [made]


def test_a_unit_without_such_mounts_gets_none(state, start, tmp_path):
    (tmp_path / "other").mkdir()
    assert private_tmp.provide(start(var_tmp=tmp_path / "other")) == []
    assert [*state.iterdir()] == []


def test_what_nobody_uses_is_removed(state, start):
    for name in ("systemd-private-a", "systemd-private-b", "other"):
        (state / name / "tmp").mkdir(parents=True)
    start(var_tmp=state / "systemd-private-b/tmp")
    private_tmp.remove_unused()
    assert {path.name for path in state.iterdir()} == {"systemd-private-b", "other"}
