# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollout is paused and aborted from outside: the real playbook, with nodes of a table."""

from __future__ import annotations

import datetime
import http.server
import threading

import atonce
import pytest

from tests.rollout.hooks import hook, hooks
from tests.rollout.nodes import Rollout

CANARY = ["pause", "pause", "go"]

# Case → nodes, and the shell commands of hooks: node → {hook: command}. $CONTROL is the file.
CASES = {
    # Node 3 is drained until node 2 is on probation and pauses the rollout.
    "paused": (
        {"node1": {}, "node2": {}, "node3": {}, "node4": {}},
        {
            "node2": {
                "after_switch": "echo pause >$CONTROL; echo node2 paused >>$LOG",
                "after_node": "echo go >$CONTROL; echo node2 resumed >>$LOG",
            },
            "node3": {"before_switch": "until grep -q '^node2 paused' $LOG; do sleep 0.1; done"},
        },
    ),
    "aborted": (
        {"node1": {}, "node2": {}, "node3": {}},
        {
            "node1": {"after_commit": "echo abort >$CONTROL"},
            "node2": {"before_switch": "echo node2 drained >>$LOG"},
        },
    ),
    "aborted_late": (
        {"node1": {}},
        {"node1": {"before_switch": "echo abort >$CONTROL", "after_node": "echo node1 {{ kup_node_result }} >>$LOG"}},
    ),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, commands = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        # No more forks than one that waits and one that is under way.
        return Rollout(folder, nodes).run(
            "--forks=2",
            kup_kernel="7.2",
            kup_units=["memcached.service"],
            kup_batches=[1, "100%"],
            kup_control=f"{folder}/control",
            kup_hooks=hooks(folder, commands),
        )

    return atonce.each(run, CASES)


def about(done):
    return done.report["rollout"]


def test_a_node_waits_while_the_others_are_finished(runs):
    done = runs["paused"]
    assert set(done.results.values()) == {"committed"}
    assert (done.code, about(done)["result"], about(done)["reason"]) == (0, "committed", "")
    order = [
        done.asked.index(line)
        for line in ("node2 kup_switch start", "node2 paused", "node2 resumed", "node3 kup_switch start")
    ]
    assert order == sorted(order)
    assert "control) says pause." in done.said
    assert "tasks/wait.yml for node1" in done.output
    assert "node3 waits: kup_control (" in done.said


def test_an_abort_leaves_the_nodes_whose_turn_has_not_come(runs):
    done = runs["aborted"]
    assert done.results == {"node1": "committed", "node2": "untouched", "node3": "untouched"}
    assert "node2 drained" not in done.asked
    assert about(done)["reason"].startswith("kup_control (")
    assert about(done)["reason"].endswith("/control) says abort")
    assert (done.code, about(done)["result"]) == (0, "stopped")


def test_an_abort_while_a_node_is_drained_puts_it_back_into_service(runs):
    done = runs["aborted_late"]
    assert done.switched() == []
    assert done.results == {"node1": "untouched"}
    assert "node1 pending" in done.asked


class Handler(http.server.BaseHTTPRequestHandler):
    """Says one word of `CANARY` after the other, and the last one from then on."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write((self.server.words.pop(0) if len(self.server.words) > 1 else "go").encode())

    def log_message(self, *_words):
        pass


@pytest.fixture
def control():
    """A server of the words that the test gives it, and its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server, f"http://127.0.0.1:{server.server_port}/rollout"
    server.shutdown()
    server.server_close()


def test_a_node_waits_before_it_is_drained(tmp_path, control):
    server, address = control
    # The plan asks, too.
    server.words = ["go", *CANARY]
    done = Rollout(tmp_path, {"node1": {}}).run(
        kup_kernel="7.2",
        kup_units=["memcached.service"],
        kup_control=address,
        kup_hooks={"before_switch": hook(tmp_path, "before_switch", {"node1": "echo node1 drained >>$LOG"})},
    )
    assert server.words == ["go"]
    assert done.results == {"node1": "committed"}
    assert done.output.index(f"node1 waits: kup_control ({address}) says pause.") < done.output.index(
        "Hook: before_switch"
    )


def test_a_node_that_waits_for_its_window_can_be_stopped(tmp_path, control):
    server, address = control
    # The plan asks first, then the node that waits.
    server.words = ["go", "go", "abort", "abort"]
    opens = datetime.datetime.now() + datetime.timedelta(hours=2)
    window = f"{opens:%H:%M}-{opens + datetime.timedelta(hours=1):%H:%M}"
    done = Rollout(tmp_path, {"node1": {}}).run(
        kup_kernel="7.2",
        kup_units=["memcached.service"],
        kup_control=address,
        kup_window=[window],
        kup_window_patience=3 * 3600,
    )
    waits = f"kup_window ({window}) opens at {opens:%a %H:%M}"
    assert f"node1 waits: {waits}." in done.said
    assert done.results == {"node1": "untouched"}
    assert (
        done.report["rollout"]["reason"] == f"kup_control ({address}) says abort; the node had waited, because {waits}"
    )
