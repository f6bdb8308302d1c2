# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A collection without the nodes' programs gets them, or the reason in one sentence."""

from __future__ import annotations

import hashlib
import pathlib

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _programs

RECIPE = "all:\n\t@echo program >$(OUT)/{}\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    for path in map(pathlib.Path, _programs.paths(str(tmp_path)).values()):
        path.parent.mkdir()
        (path.parent / "Makefile").write_text(RECIPE.format(path.name))
    monkeypatch.setattr(_programs, "_TOOLS", ("make",))
    return tmp_path


def test_they_are_built_once(files):
    assert _programs.provide(str(files)) == [
        "paged",
        "environment",
        "fingerprint",
        "ends/kup_pairs.so",
        "sums/kup_sums.so",
    ]
    for path in map(pathlib.Path, _programs.paths(str(files)).values()):
        assert path.read_text() == "program\n"
        assert sorted(entry.name for entry in path.parent.iterdir()) == sorted(["Makefile", path.name])
    assert (files / "ends/kup_pairs.so").exists()
    assert not _programs.provide(str(files))


def test_only_what_is_missing_is_built(files):
    (files / "paged/paged").write_text("from the tarball")
    assert _programs.provide(str(files)) == ["environment", "fingerprint", "ends/kup_pairs.so", "sums/kup_sums.so"]
    assert (files / "paged/paged").read_text() == "from the tarball"


def test_a_program_has_the_digest_of_its_content(files):
    assert set(_programs.digests(str(files)).values()) == {""}
    _programs.provide(str(files))
    assert _programs.digests(str(files)) == dict.fromkeys(_programs.PROGRAMS, hashlib.sha256(b"program\n").hexdigest())


def test_check_mode_builds_nothing(files):
    assert _programs.provide(str(files), dry=True)
    assert not (files / "paged/paged").exists()


@pytest.mark.parametrize("dry", [False, True])
def test_a_controller_without_a_compiler_is_told_what_to_do(files, monkeypatch, dry):
    monkeypatch.setattr(_programs, "_TOOLS", ("make", "no-such-compiler"))
    with pytest.raises(
        KupError, match=r"no program paged .*lacks no-such-compiler to build it; .*'make collection' has made\.$"
    ):
        _programs.provide(str(files), dry)


def test_a_build_that_fails_says_why(files):
    (files / "environment/Makefile").write_text("all:\n\t@echo no libc.a >&2; false\n")
    with pytest.raises(KupError, match=r"its build failed \(no libc\.a\)"):
        _programs.provide(str(files))
    assert not (files / "environment/environment").exists()
