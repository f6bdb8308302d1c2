# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A collection without the page daemon gets one, or the reason in one sentence."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _page_daemon

RECIPE = "all:\n\t@echo program >$(OUT)/paged\n"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    (tmp_path / "Makefile").write_text(RECIPE)
    monkeypatch.setattr(_page_daemon, "_TOOLS", ("make",))
    return tmp_path


def test_it_is_built_once(sources):
    assert _page_daemon.provide(str(sources))
    assert (sources / "paged").read_text() == "program\n"
    assert not _page_daemon.provide(str(sources))
    assert sorted(path.name for path in sources.iterdir()) == ["Makefile", "paged"]


def test_check_mode_builds_nothing(sources):
    assert _page_daemon.provide(str(sources), dry=True)
    assert not (sources / "paged").exists()


@pytest.mark.parametrize("dry", [False, True])
def test_a_controller_without_a_compiler_is_told_what_to_do(sources, monkeypatch, dry):
    monkeypatch.setattr(_page_daemon, "_TOOLS", ("make", "no-such-compiler"))
    with pytest.raises(
        KupError, match=r"lacks no-such-compiler to build it; .*'make collection'.*kup_engine to criu\.$"
    ):
        _page_daemon.provide(str(sources), dry)


def test_a_build_that_fails_says_why(sources):
    (sources / "Makefile").write_text("all:\n\t@echo no libc.a >&2; false\n")
    with pytest.raises(KupError, match=r"its build failed \(no libc\.a\)"):
        _page_daemon.provide(str(sources))
    assert not (sources / "paged").exists()
