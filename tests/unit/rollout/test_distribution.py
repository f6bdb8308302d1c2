# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node of a distribution on which nobody has tried an update is refused: the real playbooks, with nodes of a table."""

from __future__ import annotations

import atonce
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system.distribution import Distribution
from ansible_collections.kup.fleet.plugins.module_utils._update import checks
from tests.rollout.answers import NEW
from tests.rollout.nodes import Rollout

(BLOCKER,) = checks.untried_distribution(Distribution("rocky", "9.4", "Rocky Linux 9.4"))
SENTENCE = BLOCKER.sentence()
# It runs the target already.
ROCKY = {
    "state": {"kernel": NEW},
    "kup_preflight": {
        "answer": {
            "blockers": [BLOCKER.as_dict()],
            "problems": [SENTENCE],
            "units": [],
            "target": None,
            "release": "",
            "needs_update": True,
        }
    },
}


def update(folder):
    return Rollout(folder, {"node1": {}, "node2": ROCKY}).run(
        kup_kernel="7.2", kup_units=["memcached.service"], kup_max_failed=1
    )


def ready(folder):
    return Rollout(folder, {"node2": ROCKY}).run(
        playbook="kup_ready", kup_kernel="7.2", kup_units=["memcached.service"]
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), (update, ready))


def test_an_update_refuses_it_and_goes_on_with_the_others(runs):
    done = runs[update]
    assert done.results == {"node1": "committed", "node2": "failed"}
    assert done.reason("node2").endswith(SENTENCE)
    # In the end its record is released, if it has one.
    asked = {line for line in done.asked if line.startswith("node2 ")}
    assert asked == {"node2 kup_preflight", "node2 kup_commit released"}


def test_nothing_is_set_there(runs):
    assert runs[ready].code != 0
    assert SENTENCE in runs[ready].said
    assert runs[ready].asked == ["node2 kup_preflight"]
