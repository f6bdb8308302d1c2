# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An answer of a survey that ansible-core has made a number of is the text again; what was a number stays one."""

from __future__ import annotations

import os

from ansible.parsing.dataloader import DataLoader

from ansible_collections.kup.fleet.plugins.plugin_utils import _unsafe_texts

# As AWX writes it.
FILE = """\
!unsafe 'kup_kernel': !unsafe '6.10'
!unsafe 'kup_units': !unsafe |
  a.service
  b.service
!unsafe 'kup_soak': 5
!unsafe 'kup_engine': !unsafe foam
kup_domain: "7"
!unsafe 'kup_commit_timeout': !unsafe '60'
"""


def test_a_text_is_what_was_answered(tmp_path):
    path = tmp_path / "extravars"
    path.write_text(FILE)
    seen = DataLoader().load_from_file(str(path))
    assert seen["kup_kernel"] == 6.1
    texts = _unsafe_texts.of_files(["a=b", f"@{path}"])
    assert texts["kup_units"] == "a.service\nb.service\n"
    assert _unsafe_texts.restored(seen, texts) == {"kup_kernel": "6.10", "kup_commit_timeout": "60"}


def test_a_value_that_comes_after_the_file_counts(tmp_path):
    path = tmp_path / "extravars"
    path.write_text(FILE)
    texts = _unsafe_texts.of_files([f"@{path}", "kup_kernel=7.2"])
    assert _unsafe_texts.restored({"kup_kernel": 7.2, "kup_commit_timeout": "x"}, texts) == {}


def test_other_files_have_none(tmp_path):
    for number, text in enumerate(("$ANSIBLE_VAULT;1.1;AES256\n3632", "[1, 2]", "", "a: [")):
        path = tmp_path / str(number)
        path.write_text(text)
        assert _unsafe_texts.of_files([f"@{path}"]) == {}


def test_a_pipe_is_not_read_again(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert _unsafe_texts.of_files([f"@{tmp_path}/pipe", "@/not/here", '{"a": 1}']) == {}


def test_a_date_that_is_none_stays_a_text():
    assert _unsafe_texts.restored({"a": 1}, {"a": "2026-99-99"}) == {}
