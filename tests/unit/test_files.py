"""Files that survive a power cut: in which order they are written, synced and renamed."""

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _files


@pytest.fixture
def calls(monkeypatch):
    """Names of the system calls that make a file durable, in order, with what each was about."""
    found = []
    fsync, rename = os.fsync, os.rename

    def synced(descriptor):
        found.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def renamed(source, target):
        found.append(("rename", os.path.basename(target)))
        rename(source, target)

    monkeypatch.setattr(_files.os, "fsync", synced)
    monkeypatch.setattr(_files.os, "rename", renamed)
    return found


@pytest.mark.parametrize("way", ["text", "bytes", "copy"])
def test_a_file_is_synced_renamed_and_its_directory_synced_in_this_order(calls, tmp_path, way):
    path = tmp_path / "record"
    path.write_text("old")
    (tmp_path / "source").write_text("new")
    if way == "text":
        _files.write_file(str(path), "new")
    elif way == "bytes":
        _files.write_bytes(str(path), b"new")
    else:
        _files.copy_file(str(tmp_path / "source"), str(path))
    assert calls == [("fsync", "record.new"), ("rename", "record"), ("fsync", tmp_path.name)]
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_reader_never_sees_a_part(tmp_path, monkeypatch):
    path = tmp_path / "record"
    path.write_text("old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        _files.write_file(str(path), "new")
    assert path.read_text() == "old"


def test_a_directory_is_for_root_only(tmp_path):
    path = tmp_path / "state/images"
    _files.make_directory(str(path))
    assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("path", ["/nonexistent", "/etc/passwd/x"])
def test_what_is_not_there_reads_as_the_default(path):
    assert _files.read_text(path, "none") == "none"
