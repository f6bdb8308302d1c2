# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fields of a survey are texts, and an empty one is not given: the real playbooks, with nodes of a table."""

from __future__ import annotations

import atonce
import pytest

from tests.rollout.nodes import Rollout

UNITS = ["nginx.service", "memcached.service"]
GROUP = {"kup_units": UNITS, "kup_kernel": "7.2", "kup_batches": ["100%"], "kup_drain": []}
EMPTY = dict.fromkeys(("kup_units", "kup_kernel", "kup_batches", "kup_switch_timeout", "kup_window", "kup_hooks"), "")
FULL = {
    "kup_units": "nginx.service\r\nmemcached.service\r\n",
    "kup_kernel": " 7.2\n",
    "kup_engine": "foam ",
    "kup_freeze_target": "0.5",
    "kup_soak": "0",
    "kup_install_packages": "yes",
    "kup_max_failed": " 10% ",
    "kup_gate_ports": "11211, 80",
    "kup_gate_uris": '[{"uri": "http://127.0.0.1/"}]',
}
WRONG = {
    "kup_soak": "ten",
    "kup_install_packages": "maybe",
    "kup_gate_uris": "http://127.0.0.1/",
    "kup_max_failed": "x%",
}
SLICE = {"awx_job_template_name": "kup fleet", "awx_workflow_job_name": "kup fleet"}


def rollout(folder, *hosts, **variables):
    groups = {"web": {"hosts": hosts, "vars": GROUP}}
    return Rollout(folder, dict.fromkeys(hosts, {}), groups).run(**variables)


def empty(folder):
    return rollout(folder, "node1", "node2", **EMPTY)


def full(folder):
    (folder / "after.yml").write_text("[{ansible.builtin.debug: {msg: 'after {{ inventory_hostname }}'}}]")
    return rollout(folder, "node1", **FULL, kup_hooks=f"after_node: {folder}/after.yml\n")


def wrong(folder):
    return rollout(folder, "node1", "node2", **WRONG)


def sliced(folder):
    return rollout(folder, "node1", **SLICE)


def status(folder):
    nodes = Rollout(folder, {"node1": {}})
    return nodes.run(
        playbook="kup_status", kup_textfile_dir="", kup_kernel="", kup_status_textfile="", kup_any_distribution=""
    )


def fallback(folder):
    nodes = Rollout(folder, {"node1": {"state": {"kernel": "7.2.12-amd64", "phase": "probation"}}})
    return nodes.run("-l", "all", playbook="kup_fallback", kup_reason="", kup_committed="", kup_switch_timeout="")


def fallback_wrong(folder):
    return Rollout(folder, {"node1": {}}).run("-l", "all", playbook="kup_fallback", kup_switch_timeout="soon")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    cases = (empty, full, wrong, sliced, status, fallback, fallback_wrong)
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), cases)


def test_an_empty_field_leaves_what_the_inventory_has(runs):
    assert runs[empty].results == {"node1": "committed", "node2": "committed"}
    assert runs[empty].report["rollout"]["batches"] == [["node1", "node2"]]


def test_texts_are_taken_for_what_they_mean(runs):
    assert runs[full].results == {"node1": "committed"}
    assert runs[full].report["rollout"]["kernel"] == "7.2"
    assert "after node1" in runs[full].said


@pytest.mark.parametrize(
    "sentence",
    [
        "node1 and 1 more: kup_soak is 'ten', expected a whole number.",
        "node1 and 1 more: kup_install_packages is 'maybe', expected true or false.",
        "node1 and 1 more: kup_gate_uris is a text, expected a list of dictionaries.",
        "node1 and 1 more: kup_max_failed is 'x%', expected a whole number of at least 0 or a percentage",
    ],
)
def test_a_text_that_means_nothing_is_refused_before_any_node_is_asked(runs, sentence):
    assert sentence in runs[wrong].said.replace("''", "'")
    assert runs[wrong].asked == []


def test_a_slice_is_refused_before_any_node_is_asked(runs):
    assert "This job is a slice of the AWX job template 'kup fleet'" in runs[sliced].said.replace("''", "'")
    assert (runs[sliced].code != 0, runs[sliced].asked, runs[sliced].report) == (True, [], {})


def test_a_status_with_empty_fields(runs):
    assert runs[status].code == 0
    assert "node1 kup_status" in runs[status].asked


def test_a_fallback_with_empty_fields(runs):
    assert runs[fallback].code == 0, runs[fallback].output
    assert "node1: fell back, runs 6.12.1-amd64" in runs[fallback].said


def test_a_fallback_is_refused_in_one_sentence(runs):
    assert "node1: kup_switch_timeout is 'soon', expected a whole number." in runs[fallback_wrong].said.replace(
        "''", "'"
    )
    assert runs[fallback_wrong].asked == []
