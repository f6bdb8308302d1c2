# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with one group is found before any node is asked for anything: the real playbook, with nodes of a table."""

from __future__ import annotations

import atonce
import pytest

from tests.rollout.answers import NEW, OLD
from tests.rollout.nodes import Rollout

LEASED = {"name": "memcached", "lease_s": 0}
GOOD = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
WRONG = {
    "no_units": {"kup_kernel": "7.2"},
    "lease": {**GOOD, "kup_units": [LEASED]},
    "numbers": {**GOOD, "kup_kernel": 6.1, "kup_gate_ports": {"a": 1}},
    "evaluated": {**GOOD, "kup_images_dir": "{{ not_there }}/images", "kup_engine": "{{ 'mag' ~ 'ic' }}"},
    "window": {**GOOD, "kup_window": ["Sam 02:00-04:00"], "kup_window_zone": "Berlin"},
    "no_kernel": {**GOOD, "kup_kernel": ""},
    "kernel": {**GOOD, "kup_kernel": "latest and greatest"},
}
# A refusal has ten sentences at most.
MORE = {
    "nameless": {**GOOD, "kup_units": [{"on_failure": "continue"}]},
    "empty_name": {**GOOD, "kup_units": ["memcached", {"name": ""}]},
    "of_unit": {**GOOD, "kup_units": [{"name": "memcached", "on_failure": "ignore"}]},
    "policy": {**GOOD, "kup_on_unit_failure": "forget"},
    "no_batches": {**GOOD, "kup_batches": []},
    "socket": {**GOOD, "kup_units": ["memcached.socket"]},
    "last_batch": {**GOOD, "kup_batches": [1, "0%"]},
    "batches": {**GOOD, "kup_batches": ["some"]},
    "budget": {**GOOD, "kup_max_failed": -1},
    "time": {**GOOD, "kup_commit_timeout": 0},
}
MISSPELLED = {"group": {**GOOD, "kup_gate_port": [11211]}, "other": {**GOOD, "kup_max_fail": 1}}
LOCAL = {"group": {**GOOD, "ansible_connection": "local"}}


OLDER = "7.2.9-amd64"


def check(folder):
    """A run in check mode, with a node of older package lists, one that is up to date and one that does not answer."""
    nodes = {
        "node1": {},
        "node2": {"kup_preflight": {"answer": {"target": OLDER, "release": OLDER}}},
        "node3": {"state": {"kernel": NEW}},
        "node4": {"down": True},
    }
    return Rollout(folder, nodes).run("--check", **GOOD)


def refuse(folder):
    return run_groups(folder, WRONG)


def refuse_more(folder):
    return run_groups(folder, MORE)


def refuse_names(folder):
    return run_groups(folder, MISSPELLED, kup_unit=["memcached.service"])


def refuse_connection(folder):
    return run_groups(folder, LOCAL)


def find_nobody(folder):
    return run_groups(folder, {}, "-l", "good:!node1:!node2")


def run_groups(folder, wrong, *words, **variables):
    """A run with a good group and, for each of ``wrong``, a group of this name with one node."""
    groups = {"good": {"hosts": ["node1", "node2"], "vars": GOOD}}
    groups |= {name: {"hosts": [f"{name}1"], "vars": of_group} for name, of_group in wrong.items()}
    nodes = {host: {} for group in groups.values() for host in group["hosts"]}
    return Rollout(folder, nodes, groups).run(*words, **variables)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    found = (check, refuse, refuse_more, refuse_names, refuse_connection, find_nobody)
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), found)


@pytest.fixture(scope="module")
def checked(runs):
    return runs[check]


@pytest.fixture(scope="module")
def refused(runs):
    return runs[refuse]


def test_nodes_with_older_package_lists_are_refused(checked):
    assert f"node2: kup_kernel 7.2 is {OLDER} here, expected {NEW} as on node1; run apt-get update" in checked.said
    assert checked.code != 0


def test_a_check_ends_with_the_plan_of_all_nodes(checked):
    assert [(row["name"], row["verdict"], row["batch"]) for row in checked.plan["nodes"]] == [
        ("node1", "update", 1),
        ("node2", "refused", None),
        ("node3", "up_to_date", None),
        ("node4", "unreachable", None),
    ]
    assert f"node1: would go from {OLD} to {NEW} with memcached.service" in checked.said
    assert "plan: 1 update, 1 up to date, 1 refused, 1 unreachable" in checked.said
    assert f"node1 1 {OLD} -> {NEW} foam 64 MiB 11 s memcached.service" in checked.said


def test_a_check_asks_nodes_for_nothing_else(checked):
    assert {line.split()[1] for line in checked.asked} <= {"kup_preflight", "kup_rehearse"}
    assert checked.report == {}


@pytest.mark.parametrize("run", [refuse, refuse_more, refuse_names, refuse_connection, find_nobody])
def test_no_node_is_asked_for_anything(runs, run):
    assert runs[run].code != 0
    assert runs[run].asked == []
    assert runs[run].report == {}


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (refuse, "no_units1: kup_units is [], expected a list of at least one service"),
        (refuse, "numbers1: kup_kernel is 6.1, expected a text; quote it"),
        (refuse, "numbers1: kup_gate_ports is {'a': 1}, expected a list."),
        (refuse, "evaluated1: kup_engine is 'magic', expected one of auto, ppp, foam, criu."),
        (refuse, "window1: kup_window has the element 'Sam 02:00-04:00', expected times such as '02:00-04:30'"),
        (refuse, "window1: kup_window_zone is 'Berlin', which the controller does not know"),
        (refuse, "evaluated1: kup_images_dir cannot be evaluated: "),
        (refuse, "no_kernel1: kup_kernel is '', expected a text such as '7.2'"),
        (refuse, "kernel1: kup_kernel is 'latest and greatest', expected 'newest'"),
        (refuse_more, "nameless1: kup_units has the element "),
        (refuse_more, "empty_name1: kup_units has the element "),
        (refuse_more, "on_failure of memcached in kup_units is 'ignore', expected one of fall_back, continue, stop"),
        (refuse_more, "kup_on_unit_failure is 'forget', expected one of fall_back, continue, stop"),
        (refuse_more, "no_batches1: kup_batches is []"),
        (refuse_more, "'memcached.socket' is not the name of a systemd service, expected something like"),
        (refuse_more, "last_batch1: kup_batches has the element '0%', with which it never covers the fleet"),
        (refuse_more, "batches1: kup_batches has the element 'some'"),
        (refuse_more, "budget1: kup_max_failed is -1"),
        (refuse_more, "time1: kup_commit_timeout is 0"),
        (refuse_names, "the command line: kup_unit is not a variable of this collection; did you mean kup_units?"),
        (refuse_names, "host group1: kup_gate_port is not a variable of this collection; did you mean kup_gate_ports?"),
        (refuse_names, "host other1: kup_max_fail is not a variable of this collection; did you mean kup_max_failed?"),
        (
            refuse_connection,
            "group1 has the connection 'local', expected one that leads to another machine such as 'ssh'",
        ),
        (find_nobody, "no hosts"),
    ],
)
def test_each_mistake_has_its_place(runs, run, sentence):
    assert sentence in runs[run].said.replace("''", "'")


def test_a_good_group_is_not_named_and_no_specification_is_printed(refused):
    assert "node1: " not in refused.said
    assert "argument_spec" not in refused.output
