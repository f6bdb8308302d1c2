"""An owner's directory: private files, complete or absent, and no link that leads elsewhere."""

import os
import stat

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils._folder import Folder


@pytest.fixture(name="folder")
def _folder(tmp_path):
    with Folder.at(str(tmp_path / "new/reports")) as folder:
        yield folder


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_all_is_for_the_owner_only(folder):
    folder.write("a", "text")
    folder.append("b", "line\n")
    with folder.folder("rows"):
        pass
    modes = [mode(f"{folder.path}/{name}") for name in (".", "rows", "a", "b")]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_an_existing_directory_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    with Folder.at(str(tmp_path)) as folder:
        folder.write("a", "text")
    assert mode(tmp_path) == 0o755


def test_what_is_written_is_read_and_nothing_else_is_left(folder):
    folder.write("a.json", "old")
    folder.write("a.json", "new")
    assert folder.read("a.json")[0] == "new"
    assert folder.read("b.json") == (None, 0.0)
    assert os.listdir(folder.path) == ["a.json"]


def test_lines_are_added(folder):
    for line in ("one\n", "two\n"):
        folder.append("trail", line)
    assert folder.read("trail")[0] == "one\ntwo\n"


def test_no_link_is_followed(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("secret")
    for name, target in {"file": secret, "rows": outside, "lock": secret}.items():
        os.symlink(target, f"{folder.path}/{name}")
    for call in (lambda: folder.read("file"), lambda: folder.append("file", "x"), lambda: folder.folder("rows")):
        with pytest.raises(OSError):
            call()
    with pytest.raises(OSError), folder.locked("lock"):
        pass
    # The link is replaced, not what it leads to.
    folder.write("file", "new")
    assert secret.read_text() == "secret"
    assert folder.read("file")[0] == "new"


def test_a_link_in_the_place_of_an_unfinished_file_is_removed(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    os.symlink(secret, f"{folder.path}/.file.{os.getpid()}")
    folder.write("file", "new")
    assert (secret.read_text(), folder.read("file")[0]) == ("secret", "new")


def test_what_is_no_regular_file_keeps_nobody_waiting(folder):
    os.mkfifo(f"{folder.path}/fifo")
    with pytest.raises(KupError, match="move it away"):
        folder.read("fifo")
    reader = os.open(f"{folder.path}/fifo", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(KupError, match="no regular file"):
        folder.append("fifo", "x")
    os.close(reader)


def test_a_directory_of_another_user_is_refused(folder, monkeypatch):
    with folder.folder("rows"):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(KupError, match="belongs to the user"):
        folder.folder("rows")


def test_names_leave_out_what_is_being_written(folder):
    folder.write("b.json", "")
    folder.write("a.json", "")
    folder.write("c.html", "")
    (open(f"{folder.path}/.d.json.12", "w")).close()
    (open(f"{folder.path}/.e.json", "w")).close()
    assert folder.names(".json") == ["a.json", "b.json"]
    folder.remove_unfinished()
    assert sorted(os.listdir(folder.path)) == ["a.json", "b.json", "c.html"]
