# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A misspelled variable is refused with the place where it is set and the nearest name that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _variables

KNOWN = _variables.declared(Path(__file__).parents[3])


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("kup_unit", "kup_units"),
        ("kup_kernal", "kup_kernel"),
        ("kup_gate_port", "kup_gate_ports"),
        ("kup_commited", "kup_committed"),
        ("kup_watchinterval", "kup_watch_interval"),
        ("kup_kexec_watch_intervall", "kup_kexec_watch_interval"),
    ],
)
def test_a_misspelled_variable_is_refused_with_the_nearest_name(wrong, right):
    sentence = f"host node1: {wrong} is not a variable of this collection; did you mean {right}?"
    assert _variables.objections({"host node1": [wrong]}, *KNOWN) == [sentence]


def test_a_name_like_no_other_is_refused_with_where_the_names_are():
    sentence = (
        "the command line: kup_x is not a variable of this collection; 'ansible-doc -t role kup.fleet.kup' lists them."
    )
    assert _variables.objections({"the command line": ["kup_x"]}, *KNOWN) == [sentence]


def test_a_variable_of_many_hosts_is_refused_once():
    found = _variables.objections({f"host node{number}": ["kup_unit"] for number in range(1, 4)}, *KNOWN)
    assert len(found) == 1
    assert found[0].startswith("host node1 and 2 more: kup_unit ")


def test_each_misspelled_variable_has_its_sentence():
    found = _variables.objections({"host node1": ["kup_unit"], "host node2": ["kup_kernal", "kup_units"]}, *KNOWN)
    assert [sentence.split(" is ")[0] for sentence in found] == ["host node2: kup_kernal", "host node1: kup_unit"]


def test_what_there_is_and_what_belongs_to_others_is_accepted():
    names = ["kup_units", "kup_reason", "kup_restore_reason", "kup_checkpoint_fit", "kup_rollout"]
    assert _variables.objections({"host node1": [*names, "__kup_failed", "kupfer_units", "ansible_host"]}, *KNOWN) == []
