"""Where paths lead, and who can change that."""

import os
import socket

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import root_paths

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own files")


@pytest.fixture
def top():
    """A directory that only root can change: those of pytest are below /tmp."""
    path = f"/root/kup-test-{os.getpid()}"
    os.mkdir(path, 0o755)
    yield path
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files + [each for each in folders if os.path.islink(f"{folder}/{each}")]:
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def test_only_root_changes_where_it_leads(top):
    os.mkdir(f"{top}/a", 0o755)
    for path in (top, f"{top}/a", f"{top}/a/none/further", f"{top}//a/../a/."):
        assert root_paths.is_roots_way(path), path
        assert root_paths.is_roots_own(path), path


@pytest.mark.parametrize(("owner", "mode"), [(1, 0o755), (0, 0o775), (0, 0o757), (0, 0o1777)])
def test_somebody_else_may_put_something_else_there(top, owner, mode):
    os.mkdir(f"{top}/a")
    os.chown(f"{top}/a", owner, 0)
    os.chmod(f"{top}/a", mode)
    os.mkdir(f"{top}/a/b")
    assert root_paths.is_roots_way(f"{top}/a")
    assert not root_paths.is_roots_own(f"{top}/a")
    for path in (f"{top}/a/b", f"{top}/a/none"):
        assert not root_paths.is_roots_way(path)
        assert not root_paths.is_roots_own(path)


def test_links_are_followed(top):
    os.makedirs(f"{top}/theirs/b")
    os.chown(f"{top}/theirs", 1, 0)
    os.symlink("theirs/b", f"{top}/relative")
    os.symlink(f"{top}/theirs", f"{top}/absolute")
    os.symlink(top, f"{top}/mine")
    os.symlink("circle", f"{top}/circle")
    assert root_paths.is_roots_way(f"{top}/mine/mine/theirs")
    assert root_paths.is_roots_way(f"{top}/absolute")
    for name in ("relative", "absolute/b", "mine/relative", "circle"):
        assert not root_paths.is_roots_way(f"{top}/{name}"), name


def test_a_socket_has_no_content(top):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"{top}/socket")
    os.chmod(f"{top}/socket", 0o666)
    assert root_paths.is_roots_own(f"{top}/socket")
    with open(f"{top}/file", "w", encoding="ascii"):
        os.chmod(f"{top}/file", 0o666)
    assert not root_paths.is_roots_own(f"{top}/file")
