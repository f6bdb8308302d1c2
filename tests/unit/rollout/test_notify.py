# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Webhooks are told how a rollout goes: the real playbook, with nodes of a table and receivers on this machine."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.rollout.nodes import Rollout

GIVEN = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
GATE_FAILS = {"kup_gate judge": {"answer": {"failed": True, "msg": "Port 11211 does not answer."}}}
SECRET = "T0SECRET"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.path.split("/")[1], content))
        if self.path.startswith("/silent"):
            self.server.over.wait(600)
            return
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words):
        pass


def secrets(folder, receivers):
    """Words of the command line that give ``receivers``, the address of the first one in a vault."""
    (folder / "password").write_text("x\n")
    options = ["--vault-password-file", str(folder / "password")]
    program = Path(sys.executable).with_name("ansible-vault")
    words = [program, "encrypt_string", *options, receivers[0]["url"]]
    encrypted = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = [f"- url: {encrypted.strip()}", *(f"- {json.dumps(receiver)}" for receiver in receivers[1:])]
    (folder / "vars.yml").write_text("kup_notify:\n" + "\n".join(lines) + "\n")
    return [*options, "-e", f"@{folder}/vars.yml"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """(folder, how a rollout ended whose third node fails, list of (receiver, message))."""
    folder = tmp_path_factory.mktemp("notify")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.got, server.over = [], threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    receivers = [
        # All events, as generic JSON.
        {"url": f"{address}/all/{SECRET}"},
        {"url": f"{address}/slack/{SECRET}", "format": "slack", "events": ["stop", "end"]},
        {"url": f"{address}/silent/{SECRET}", "events": ["start"]},
        # Nobody listens there.
        {"url": f"http://127.0.0.1:9/{SECRET}", "events": ["end"]},
    ]
    nodes = {"node1": {}, "node2": {}, "node3": GATE_FAILS, "node4": {}, "node5": {}}
    batches = [1, 2, "100%"]
    words = secrets(tmp_path_factory.mktemp("secrets"), receivers)
    done = Rollout(folder, nodes).run("-vvv", *words, **GIVEN, kup_batches=batches)
    server.over.set()
    server.shutdown()
    server.server_close()
    return folder, done, server.got


def of(ran, receiver):
    return [message for name, message in ran[2] if name == receiver]


def test_the_rollout_is_what_it_would_be_without_receivers(ran):
    _folder, done, _got = ran
    assert done.results["node1"] == done.results["node2"] == "committed"
    assert done.results["node3"] == "fell_back"
    assert done.results["node4"] == done.results["node5"] == "untouched"


def test_each_event_is_told_once_and_in_order(ran):
    told = of(ran, "all")
    assert [message["event"] for message in told] == ["start", "canary", "stop", "end"]
    start, canary, stop, end = told
    assert start["nodes"] == {"pending": 5, "total": 5}
    assert "after its first batch (node1): " in canary["text"]
    assert stop["reason"] == "node3 failed, kup_max_failed allows 0"
    assert (end["result"], end["reason"]) == ("stopped", stop["reason"])
    assert end["nodes"] == {"committed": 2, "fell_back": 1, "untouched": 2, "total": 5}
    assert {message["run_id"] for message in told} == {ran[1].report["rollout"]["run_id"]}


def test_slack_is_told_what_it_wants(ran):
    texts = [message["text"] for message in of(ran, "slack")]
    assert len(texts) == 2
    assert "stops: node3 failed, kup_max_failed allows 0." in texts[0]
    assert "has ended (stopped, node3 failed" in texts[1]


def test_a_receiver_that_is_silent_or_down_has_a_warning(ran):
    said = ran[1].said
    assert len(of(ran, "silent")) == 1
    assert "Element 3 of kup_notify was not told of the event 'start': it " in said
    assert "Element 4 of kup_notify was not told of the event 'end': it cannot be reached (Connection refused)." in said


def test_no_address_is_shown_or_kept_anywhere(ran):
    folder, done, _got = ran
    assert SECRET not in done.output
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and "collections" not in path.parts:
            assert SECRET not in path.read_text(errors="replace"), path


def test_a_plan_that_is_refused_shows_no_address(tmp_path):
    wrong = {"kup_notify": [{"url": f"https://example.net/{SECRET}", "format": "teams"}]}
    groups = {
        "one": {"hosts": ["node1"], "vars": {"kup_notify": [{"url": f"https://example.net/{SECRET}/1"}]}},
        "two": {"hosts": ["node2"], "vars": {"kup_notify": [{"url": f"https://example.net/{SECRET}/2"}]}},
        "three": {"hosts": ["node3"], "vars": wrong},
        "four": {"hosts": ["node4"], "vars": {"kup_notify": f"https://example.net/{SECRET}/{{{{ not_there }}}}"}},
    }
    nodes = {f"node{number}": {} for number in range(1, 5)}
    done = Rollout(tmp_path, nodes, groups).run("-vvv", **GIVEN)
    assert done.code != 0
    assert "node2 and 1 more: kup_notify is another one than on node1; expected one value" in done.said
    assert "node3: Element 1 of kup_notify has another format than generic or slack" in done.said
    assert "node4: kup_notify cannot be evaluated: its template is wrong" in done.said
    assert SECRET not in done.output
