# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Webhooks: who is told what, and that nobody waits for them or learns their addresses."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _notify, _report

SECRET = "T0SECRET"
ROLLOUT = {"run_id": "20261127T020000-1a2b3c", "kernel": "7.2", "started": 1000.0}
REPORT = _report.merge({}, [{"name": "node1", "result": "committed"}, {"name": "node2"}], ROLLOUT)
NEEDS_UPDATE = {"kup_checkpoint_fit": {"needs_update": True, "phase": "none"}}
ON_PROBATION = {"kup_checkpoint_fit": {"needs_update": True, "phase": "probation"}}


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps what it gets, and answers as the first word of the path says."""

    def do_POST(self):
        word = self.path.split("/")[1]
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], content))
        if word == "silent":
            self.server.over.wait(30)
            return
        if word == "drip":
            # Never two seconds without a byte, and never a whole answer.
            while not self.server.over.wait(0.1):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: a\r\n"[:1])
            return
        self.send_response(int(word))
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/200/elsewhere")
        self.end_headers()

    def log_message(self, *_words):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.got, server.over = [], threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def receivers(server, *words, **more):
    address = f"http://127.0.0.1:{server.server_port}"
    return _notify.parse([{"url": f"{address}/{word}/{SECRET}", **more} for word in words])


def message(event="start", reason=""):
    return _notify.about(event, REPORT, reason)


def test_a_generic_receiver_gets_all_that_is_known(server):
    assert _notify.deliver(receivers(server, 200), message("stop", "node3 failed")) == []
    ((path, kind, content),) = server.got
    assert (path, kind) == (f"/200/{SECRET}", "application/json")
    got = json.loads(content)
    assert got.pop("time").endswith("Z")
    assert got == {
        "event": "stop",
        "run_id": ROLLOUT["run_id"],
        "kernel": "7.2",
        "result": "running",
        "reason": "node3 failed",
        "nodes": {"pending": 1, "committed": 1, "total": 2},
        "text": f"Kernel rollout {ROLLOUT['run_id']} stops: node3 failed. No other node is switched. So far: 1 pending, 1 committed.",
    }


def test_slack_gets_a_text_in_which_no_name_is_a_link_or_calls_anybody(server):
    _notify.deliver(receivers(server, 200, format="slack"), message("stop", "<!channel> & <http://evil|x> failed"))
    got = json.loads(server.got[0][2])
    assert list(got) == ["text"]
    assert "&lt;!channel&gt; &amp; &lt;http://evil|x&gt; failed" in got["text"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("start", "has begun: 2 nodes, kernel 7.2."),
        ("canary", "goes on after its first batch (node1): 1 pending, 1 committed."),
        ("stop", "stops: why. No other node is switched. So far: 1 pending, 1 committed."),
    ],
)
def test_each_event_has_its_sentence(event, text):
    reason = "why" if event == "stop" else ""
    assert message(event, reason)["text"] == f"Kernel rollout {ROLLOUT['run_id']} {text}"


def test_the_end_has_the_counts_and_the_reason():
    about = _report.close(_report.merge(REPORT, [], {"reason": "x" * 9000}), 1050.0)
    text = _notify.about("end", about)["text"]
    assert text.startswith(f"Kernel rollout {ROLLOUT['run_id']} has ended (stopped, xxx")
    assert text.endswith("xxx) after 50 s: 1 committed, 1 untouched.")
    assert len(text) < 2200


def test_only_those_who_want_an_event_get_it(server):
    both = receivers(server, 200, events=["end"]) + receivers(server, 201, events="start") + receivers(server, 202)
    assert _notify.deliver(both, message("start")) == []
    assert sorted(path[:4] for path, _kind, _content in server.got) == ["/201", "/202"]


@pytest.mark.parametrize(("status", "follows"), [(302, False), (404, False), (500, False)])
def test_an_answer_that_is_no_success_is_said_and_no_redirection_is_followed(server, status, follows):
    (sentence,) = _notify.deliver(receivers(server, status), message())
    assert sentence == f"Element 1 of kup_notify was not told of the event 'start': it answers {status}."
    assert len(server.got) == 1


def test_all_receivers_together_take_no_longer_than_one(server):
    began = time.monotonic()
    found = _notify.deliver(receivers(server, "silent", "drip", "silent", 200), message(), patience=5)
    assert time.monotonic() - began < 9
    assert [sentence.partition(" was")[0] for sentence in found] == [f"Element {n} of kup_notify" for n in (1, 2, 3)]
    assert all("5 s" in sentence or "TimeoutError" in sentence for sentence in found)
    assert len(server.got) == 4


def unreachable():
    """Addresses at which nobody answers, or that are none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    yield f"http://127.0.0.1:{port}/{SECRET}"
    yield f"https://127.0.0.1:{port}/{SECRET}"
    yield f"http://{SECRET.lower()}.invalid/{SECRET}"


def test_no_message_has_an_address(server):
    places = [*unreachable(), f"https://127.0.0.1:{server.server_port}/200/{SECRET}"]
    found = _notify.deliver(_notify.parse([{"url": place} for place in places]), message())
    assert len(found) == len(places)
    said = " ".join(found).lower()
    assert SECRET.lower() not in said
    assert "127.0.0.1" not in said
    assert SECRET not in repr(_notify.parse([{"url": places[0]}]))


URL = f"https://example.net/{SECRET}"


@pytest.mark.parametrize(
    "value",
    [
        {"url": URL},
        URL,
        f"[{URL}",
        [URL],
        [{"url": URL, URL: 1}],
        [{"format": "slack"}],
        [{"url": ""}],
        [{"url": 7}],
        [{"url": f"ftp://x/{SECRET}"}],
        [{"url": f"https:///{SECRET}"}],
        [{"url": f"https://x:y/{SECRET}"}],
        [{"url": f"https://[::1/{SECRET}"}],
        [{"url": f"https://x/ {SECRET}"}],
        [{"url": f"https://x/\n{SECRET}"}],
        [{"url": f"https://x/ö{SECRET}"}],
        [{"url": f"https://me:{SECRET}@x/"}],
        [{"url": URL, "format": SECRET}],
        [{"url": URL, "events": []}],
        [{"url": URL, "events": [SECRET]}],
        [{"url": URL, "events": {"a": 1}}],
    ],
)
def test_what_is_no_receiver_is_refused_without_its_value(value):
    with pytest.raises(KupError, match="kup_notify") as caught:
        _notify.parse(value)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.__cause__)


@pytest.mark.parametrize("value", [None, "", " ", [], "[]"])
def test_no_receiver(value):
    assert _notify.parse(value) == []


def test_a_survey_may_have_a_text():
    (receiver,) = _notify.parse(json.dumps([{"url": URL, "format": "slack", "events": ["stop", "end"]}]))
    assert (receiver.url, receiver.format, receiver.events) == (URL, "slack", ("stop", "end"))
    assert _notify.parse([{"url": URL}])[0].events == _notify.EVENTS


@pytest.mark.parametrize(
    ("reason", "node", "first", "event"),
    [
        ("", "node1", NEEDS_UPDATE, ""),
        ("", "node2", NEEDS_UPDATE, "canary"),
        ("", "node3", NEEDS_UPDATE, "canary"),
        # The first batch only brings to its end what an earlier rollout has begun.
        ("", "node2", ON_PROBATION, ""),
        ("", "node3", ON_PROBATION, "canary"),
        ("node1 failed", "node2", NEEDS_UPDATE, "stop"),
        ("node1 failed", None, NEEDS_UPDATE, "stop"),
        ("", None, NEEDS_UPDATE, ""),
        ("", "node9", NEEDS_UPDATE, ""),
    ],
)
def test_what_a_turn_shows(reason, node, first, event):
    assert _notify.event_of_turn(reason, node, [["node1"], ["node2"], ["node3"]], {"node1": first}) == event


def test_without_batches_nothing_is_shown():
    assert _notify.event_of_turn("", "node1", [], {}) == ""
