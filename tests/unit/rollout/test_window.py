# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No node begins outside a maintenance window: the real playbook, with nodes of a table."""

from __future__ import annotations

import datetime
import json

import atonce
import pytest

from tests.rollout.answers import NEW
from tests.rollout.nodes import Rollout

ON_PROBATION = {"state": {"kernel": NEW, "phase": "probation"}}


def window(opens, closes):
    """From now, in hours."""
    now = datetime.datetime.now()
    return "-".join(f"{now + datetime.timedelta(hours=hours):%H:%M}" for hours in (opens, closes))


# Case → nodes, words and variables of the command line.
CASES = {
    "outside": ([{}, ON_PROBATION, {}], [], {"kup_window": [window(2, 3)]}),
    "first_too_late": ([{}, {}], [], {"kup_window": window(-1, 1), "kup_switch_timeout": 7200}),
    "cutoff": ([{}], [], {"kup_window": [window(-3, 1)], "kup_window_cutoff": 7200}),
    "second_too_late": ([{}, {}, {}], [], {"kup_window": [window(-1, 1)], "slow": True}),
    "impatient": ([{}], [], {"kup_window": [window(2, 3)], "kup_window_patience": 60}),
    "failing": ([{}], [], {"kup_window": [window(2, 3)], "kup_stopped_fails": "yes"}),
    "failing_not": ([{}], [], {"kup_stopped_fails": True}),
    "checked": ([{}], ["--check"], {"kup_window": [window(2, 3)]}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, words, variables = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        if variables.pop("slow", False):
            variables["kup_hooks"] = {"after_commit": slow(folder)}
        rollout = Rollout(folder, {f"node{number}": node for number, node in enumerate(nodes, 1)})
        return rollout.run(*words, **{"kup_kernel": "7.2", "kup_units": ["memcached.service"], **variables})

    return atonce.each(run, CASES)


def slow(folder):
    """A hook that makes the node's turn begin two hours earlier."""
    times = "{{ [__kup_permits[0] - 7200] }}"
    path = folder / "slow.yml"
    path.write_text(json.dumps([{"ansible.builtin.set_fact": {"__kup_permits": times}}]))
    return str(path)


def about(done):
    return done.report["rollout"]


def test_outside_the_window_nothing_is_switched_and_what_was_begun_is_finished(runs):
    done = runs["outside"]
    assert done.switched() == []
    assert done.results == {"node1": "untouched", "node2": "committed", "node3": "untouched"}
    assert about(done)["reason"].endswith(f"kup_window ({CASES['outside'][2]['kup_window'][0]}) is not open")
    assert f"The rollout stopped: {about(done)['reason']}." in done.said
    assert "node1 kup_commit released" in done.asked


def test_a_stop_by_the_window_is_no_failure(runs):
    done = runs["outside"]
    assert (done.code, about(done)["result"], about(done)["failed"]) == (0, "stopped", [])


def test_a_window_that_opens_too_late_is_not_waited_for(runs):
    assert runs["impatient"].results == {"node1": "untouched"}
    assert about(runs["impatient"])["reason"].endswith(" is not open")


def test_a_stop_is_a_failure_where_it_is_to_be_one_after_all_else_is_done(runs):
    done = runs["failing"]
    assert (done.code, about(done)["result"], done.results) == (2, "stopped", {"node1": "untouched"})
    sentence = f"The rollout stopped: {about(done)['reason']} (kup_stopped_fails)."
    assert (
        done.said.index("The report is ")
        < done.said.index("Leave the outcome with the job")
        < done.said.index(sentence)
    )
    assert runs["failing_not"].code == 0


def test_the_first_node_needs_the_time_that_a_switch_may_take(runs):
    done = runs["first_too_late"]
    assert done.results == {"node1": "untouched", "node2": "untouched"}
    assert about(done)["reason"].endswith(", a node may take 7200 s (kup_switch_timeout)")


def test_the_cutoff_counts_instead(runs):
    assert runs["cutoff"].results == {"node1": "untouched"}
    assert about(runs["cutoff"])["reason"].endswith(", kup_window_cutoff is 7200 s")


def test_the_next_node_needs_the_time_that_the_slowest_has_taken(runs):
    done = runs["second_too_late"]
    assert done.switched() == ["node1"]
    assert done.results == {"node1": "committed", "node2": "untouched", "node3": "untouched"}
    # Node 1 was slow by 7200 seconds more than it really was.
    seconds = int(about(done)["reason"].rpartition(", a node takes ")[2].removesuffix(" s"))
    assert 7200 < seconds < 7500


def test_a_check_says_whether_a_window_is_open(runs):
    done = runs["checked"]
    assert "is now not open, and opens at" in done.said
    assert (done.code, done.plan["window"]["open"], done.plan["window"]["closes"]) == (0, False, None)
    # In two hours, by the minute.
    opens = datetime.datetime.fromtimestamp(done.plan["window"]["opens"])
    assert f"{opens:%H:%M}" == CASES["checked"][2]["kup_window"][0][:5]
