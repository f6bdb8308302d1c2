# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One rollout at a time: the real playbook, with nodes of a table, and a lock of another run."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import atonce
import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _lock
from tests.rollout.nodes import Rollout

HOUR = 3600

# Case → age of another run's lock in seconds, and words of the command line.
CASES = {
    "held": (60, ["-e", "kup_report_dir=/runner/project/kup-report"]),
    "looked_at": (60, ["--check"]),
    "expired": (3 * HOUR, []),
    "taken_over": (None, []),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → (how its run ended, the directory of the lock)."""

    def run(case):
        age, words = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        place = shared / case
        place.mkdir()
        if age:
            began = time.time() - age
            _lock.take(str(place), _lock.Lock("her@other", "run-1", since=began, renewed=began, ttl=2 * HOUR), began)
        hooks = {"after_commit": another(folder, place)} if case == "taken_over" else {}
        nodes = {"node1": {}, "node2": {}}
        variables = {
            "kup_kernel": "7.2",
            "kup_units": ["memcached.service"],
            "kup_lock": str(place),
            "kup_hooks": hooks,
        }
        return Rollout(folder, nodes).run(*words, **variables), place

    # A file system of its own, so that it is good in a container, too.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        shared = Path(directory)
        yield atonce.each(run, CASES)


def another(folder, place):
    """A hook after which another run has the lock, as one that has found it expired."""
    known = {
        "owner": "her@other",
        "run_id": "run-2",
        "since": time.time(),
        "renewed": time.time(),
        "ttl": HOUR,
        "released": False,
    }
    copy = {
        "ansible.builtin.copy": {"content": json.dumps(known), "dest": f"{place}/kup.lock.2", "mode": "0600"},
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
    }
    path = folder / "another.yml"
    path.write_text(json.dumps([copy]))
    return str(path)


def holder(place):
    found = _lock.look(str(place), time.time())
    return found and found.run_id


def test_a_report_in_the_directory_of_a_job_has_a_warning(runs):
    done, _place = runs["held"]
    assert (
        done.said.count("kup_report_dir is '/runner/project/kup-report', which belongs to this container or job") == 1
    )


def test_a_rollout_is_refused_while_another_has_the_lock(runs):
    done, place = runs["held"]
    assert (done.code, done.asked, done.report) == (2, [], {})
    assert f"kup_lock ({place}) is held by her@other, run run-1, since 1 min" in done.said
    assert holder(place) == "run-1"


def test_a_check_looks_at_the_lock(runs):
    done, place = runs["looked_at"]
    assert done.code == 0
    assert f"lock: kup_lock ({place}) is held by her@other, run run-1" in done.said
    assert holder(place) == "run-1"


def test_an_expired_lock_is_taken_over_and_released_in_the_end(runs):
    done, place = runs["expired"]
    assert (done.code, done.results) == (0, {"node1": "committed", "node2": "committed"})
    assert "had expired and was taken over from her@other, run run-1" in done.said
    assert [path.name for path in place.iterdir()] == ["kup.lock.2"]
    assert holder(place) is None
    assert json.loads((place / "kup.lock.2").read_text())["run_id"] == done.report["rollout"]["run_id"]


def test_a_rollout_that_has_lost_its_lock_begins_no_node(runs):
    done, place = runs["taken_over"]
    assert done.results == {"node1": "committed", "node2": "untouched"}
    assert done.report["rollout"]["reason"].endswith(" is no longer of this run, but of her@other, run run-2")
    assert holder(place) == "run-2"
