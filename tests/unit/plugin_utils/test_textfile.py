# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A path of a file of metrics is one that a collector reads."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _textfile


def test_good_paths(tmp_path):
    for path in ("", f"{tmp_path}/kup_status.prom"):
        _textfile.check("kup_status_textfile", path)
        _textfile.check_directory("kup_textfile_dir", path)


@pytest.mark.parametrize("name", ["kup.txt", ".prom", "", "not/there.prom"])
def test_a_file_that_no_collector_would_read_is_refused(tmp_path, name):
    with pytest.raises(
        KupError, match=r"^kup_status_textfile is '.*', expected an absolute path .*/kup_status\.prom'\.$"
    ):
        _textfile.check("kup_status_textfile", f"{tmp_path}/{name}")


def test_a_relative_path_is_refused():
    with pytest.raises(KupError, match=r"^kup_rollout_textfile is 'kup\.prom', expected an absolute path"):
        _textfile.write("kup_rollout_textfile", "kup.prom", "")
    with pytest.raises(
        KupError, match=r"^kup_textfile_dir is 'x', expected the absolute path of a directory on the node"
    ):
        _textfile.check_directory("kup_textfile_dir", "x")
