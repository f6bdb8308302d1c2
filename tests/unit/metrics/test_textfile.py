# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file of metrics is replaced as a whole, in the directory that is meant."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._metrics import textfile

STRANGER = 65534


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "collector").mkdir()
    return tmp_path / "collector"


def write(directory, text="kup_a 1\n"):
    textfile.write(str(directory), "kup.prom", text, "kup_textfile_dir")


def test_it_is_readable_by_all_and_alone(directory):
    before = os.umask(0o077)
    try:
        write(directory, "old\n")
        write(directory)
    finally:
        os.umask(before)
    assert os.listdir(directory) == ["kup.prom"]
    path = directory / "kup.prom"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("kup_a 1\n", 0o644)


def test_a_reader_keeps_the_old_file(directory):
    write(directory, "old\n")
    with (directory / "kup.prom").open() as reader:
        write(directory)
        assert reader.read() == "old\n"


def test_a_link_in_its_place_is_replaced_and_not_followed(directory, tmp_path):
    (tmp_path / "precious").write_text("as it was")
    (directory / "kup.prom").symlink_to(tmp_path / "precious")
    (directory / f".kup.prom.{os.getpid()}").symlink_to(tmp_path / "precious")
    write(directory)
    assert (tmp_path / "precious").read_text() == "as it was"
    assert not (directory / "kup.prom").is_symlink()


@pytest.mark.parametrize("target", ["collector", "../{parent}/collector", "{tmp_path}/collector"])
def test_a_link_of_this_user_is_followed(directory, tmp_path, target):
    (tmp_path / "link").symlink_to(target.format(parent=tmp_path.name, tmp_path=tmp_path))
    write(tmp_path / "link")
    assert (directory / "kup.prom").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("below", ["", "/inner"])
def test_a_link_of_another_user_is_not(directory, tmp_path, below):
    (directory / "inner").mkdir()
    (tmp_path / "link").symlink_to(directory)
    os.lchown(tmp_path / "link", STRANGER, STRANGER)
    with pytest.raises(KupError, match=r"cannot be opened \(Not a directory\); create it, or correct kup_textfile_dir"):
        write(f"{tmp_path}/link{below}")
    assert not list(tmp_path.rglob("*.prom"))


def test_a_circle_of_links_comes_to_an_end(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(KupError, match="Too many levels"):
        write(tmp_path / "link")


def test_a_directory_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(KupError, match="No such file or directory"):
        write(tmp_path / "not/there")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["", "collector", "./collector"])
def test_a_relative_directory_is_refused(path):
    with pytest.raises(KupError, match=r"^kup_textfile_dir is '.*', expected an absolute path"):
        write(path)


def test_no_descriptor_stays_open(directory, tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    write(directory)
    with pytest.raises(KupError):
        write(tmp_path / "not/there")
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_cannot_be_replaced_leaves_nothing_behind(directory):
    (directory / "kup.prom").mkdir()
    with pytest.raises(KupError, match=r"^kup\.prom cannot be written into .*correct its mode or kup_textfile_dir\.$"):
        write(directory)
    assert os.listdir(directory) == ["kup.prom"]


def test_age(directory):
    assert textfile.age(f"{directory}/kup.prom", 0) == float("inf")
    write(directory)
    os.utime(directory / "kup.prom", (100, 100))
    assert textfile.age(f"{directory}/kup.prom", 130) == 30
