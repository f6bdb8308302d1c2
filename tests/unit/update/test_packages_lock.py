"""dpkg's lock."""

import subprocess
import sys

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import packages_lock

HOLD = "import fcntl, sys; stream = open(sys.argv[1], 'r+'); fcntl.lockf(stream, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def path(monkeypatch, tmp_path):
    found = tmp_path / "dpkg/lock-frontend"
    found.parent.mkdir()
    found.touch()
    monkeypatch.setattr(packages_lock, "PATH", str(found))
    return found


@pytest.fixture
def other(path):
    """Another process that holds it, until its input ends."""
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        if not process.stdin.closed:
            process.stdin.close()


def is_free(path):
    probe = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    return subprocess.run([sys.executable, "-c", probe, path], stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_nobody_else_gets_it_until_it_is_released(path):
    lock = packages_lock.PackagesLock()
    lock.take()
    lock.take()
    assert not is_free(path)
    lock.release()
    lock.release()
    assert is_free(path)


def test_whoever_holds_it_is_named(other):
    with pytest.raises(
        KupError, match=rf"The process python\S*\[{other.pid}\] has been changing packages of this node for 0 s"
    ):
        packages_lock.PackagesLock().take(patience=0)


def test_it_is_waited_for(path, other, monkeypatch):
    monkeypatch.setattr(packages_lock.time, "sleep", lambda seconds: (other.stdin.close(), other.wait()))
    packages_lock.PackagesLock().take()


def test_a_link_in_its_place_is_not_followed(path):
    path.unlink()
    path.symlink_to("/none")
    with pytest.raises(OSError, match="symbolic links"):
        packages_lock.PackagesLock().take()


def test_a_node_without_dpkg_has_none(path):
    path.unlink()
    path.parent.rmdir()
    packages_lock.PackagesLock().take()
    assert not path.parent.exists()
