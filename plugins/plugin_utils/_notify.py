# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tell others how a rollout goes: webhooks, whose addresses are credentials and are in no text of this file."""

from __future__ import annotations

import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from ansible.module_utils import urls

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _report, _values

EVENTS = ("start", "canary", "stop", "end")
FORMATS = ("generic", "slack")
PATIENCE = 10  # seconds for all receivers together
_KEYS = ("url", "format", "events")
_LONGEST = 2000  # characters of a reason


@dataclass(frozen=True)
class Receiver:
    """``name``: how messages call it; ``url``; ``format``, one of `FORMATS`; ``events``, some of `EVENTS`."""

    name: str
    url: str = field(repr=False)
    format: str
    events: tuple


def parse(value):
    """The receivers in ``kup_notify``: a list of `Receiver`.

    :raises KupError: it is no list of such dictionaries; the sentence has no value.
    """
    if isinstance(value, str):
        value = _from_json(value)
    if value is None:
        return []
    if not isinstance(value, list):
        raise KupError(f"kup_notify is no list, expected a list of dictionaries with {', '.join(_KEYS)}.")
    return [_receiver(number, each) for number, each in enumerate(value, 1)]


def _from_json(text):
    if _values.unset(text):
        return []
    try:
        return json.loads(text)
    except ValueError:
        # Without the cause, which may have a part of the text.
        raise KupError("kup_notify is a text that is no JSON, expected a list of dictionaries.") from None


def _receiver(number, given):
    name = f"Element {number} of kup_notify"
    if not isinstance(given, dict):
        raise KupError(f"{name} is no dictionary, expected one with {', '.join(_KEYS)}.")
    # A key that is none may be an address at the wrong place.
    if set(given) - set(_KEYS):
        raise KupError(f"{name} has another key than {', '.join(_KEYS)}; correct it.")
    _check_address(name, given.get("url"))
    kind, events = given.get("format", FORMATS[0]), given.get("events", list(EVENTS))
    if kind not in FORMATS:
        raise KupError(f"{name} has another format than {' or '.join(FORMATS)}; correct it.")
    events = events if isinstance(events, list) else [events]
    if not events or not all(isinstance(event, str) and event in EVENTS for event in events):
        raise KupError(f"{name} has other events than {', '.join(EVENTS)}; correct it.")
    return Receiver(name, str(given["url"]), kind, tuple(events))


def _check_address(name, url):
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        # A port that is none is an error when it is looked at.
        is_good = bool(parts) and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
        raise KupError(f"The url of {name.lower()} is no address that begins with http:// or https://; correct it.")
    if "@" in parts.netloc:
        raise KupError(f"The url of {name.lower()} has an account in it, expected none; put it into ~/.netrc.")


def event_of_turn(reason, node, batches, facts):
    """What the turn of a node shows of the rollout: an event, or empty.

    :param reason: why the rollout has stopped, empty if it has not.
    :param node: its name, or None.
    :param batches: lists of nodes.
    :param facts: dict node → its facts, of the first batch.
    """
    if reason:
        return "stop"
    return "canary" if node and any(node in batch for batch in batches[_canary(facts) + 1 :]) else ""


def _canary(facts):
    """Place of the first batch whose nodes no earlier rollout had begun."""
    return int(any(_budget.under_way(about) for about in facts.values()))


def about(event, report, reason=""):
    """What receivers are told: dict with ``event``, ``time``, ``run_id``, ``kernel``, ``result``, ``reason``, ``nodes`` (their number by
    result, and ``total``) and ``text``.

    :param report: see `_report.merge`.
    """
    rollout = report["rollout"]
    results = [node["result"] for node in report["nodes"]]
    nodes = {result: results.count(result) for result in _report.RESULTS if result in results}
    reason = (reason or str(rollout.get("reason") or ""))[:_LONGEST]
    found = {
        "event": event,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "run_id": rollout["run_id"],
        "kernel": str(rollout.get("kernel") or ""),
        "result": rollout["result"],
        "reason": reason,
        "nodes": {**nodes, "total": len(results)},
    }
    return {**found, "text": f"Kernel rollout {rollout['run_id']} {_said(event, found, report)}"}


def _said(event, found, report):
    counts = ", ".join(
        f"{number} {result.replace('_', ' ')}" for result, number in found["nodes"].items() if result != "total"
    )
    if event == "start":
        return f"has begun: {found['nodes']['total']} nodes, kernel {found['kernel']}."
    if event == "canary":
        good = [node["name"] for node in report["nodes"] if node["result"] in ("committed", "returned")]
        return f"goes on after its first batch ({_budget.names(good)}): {counts}."
    if event == "stop":
        return f"stops: {found['reason']}. No other node is switched. So far: {counts}."
    wall = report["rollout"].get("wall_s")
    because = f", {found['reason']}" if found["reason"] else ""
    return f"has ended ({found['result']}{because}){'' if wall is None else f' after {wall:.0f} s'}: {counts}."


def body(kind, message):
    """What is sent: bytes of JSON."""
    if kind == "slack":
        # https://api.slack.com/reference/surfaces/formatting#escaping: a name is no link, and calls nobody.
        text = message["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return json.dumps({"text": text}).encode()
    return json.dumps(message).encode()


def deliver(receivers, message, patience=PATIENCE):
    """Send ``message`` (see `about`) to those of ``receivers`` that want it, all at once.

    Returns after ``patience`` seconds at the latest, whatever a receiver or the resolver of names does. Who has not answered by then
    may get it yet.

    :returns: a sentence for each that has not taken it.
    """
    wanted = [receiver for receiver in receivers if message["event"] in receiver.events]
    outcomes = {}

    def post(receiver):
        outcomes[receiver] = _post(receiver, message, patience)

    threads = [threading.Thread(target=post, args=(receiver,), daemon=True) for receiver in wanted]
    for thread in threads:
        thread.start()
    end = time.monotonic() + patience
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    late = f"has not answered within {patience} s"
    troubles = [(receiver.name, outcomes.get(receiver, late)) for receiver in wanted]
    return [f"{name} was not told of the event {message['event']!r}: it {why}." for name, why in troubles if why]


def _post(receiver, message, patience):
    """What is wrong, or empty."""
    try:
        answer = urls.open_url(
            receiver.url,
            data=body(receiver.format, message),
            method="POST",
            headers={"Content-Type": "application/json"},
            http_agent="kup.fleet",
            timeout=patience,
            follow_redirects="none",
            decompress=False,
        )
        answer.close()
    except HTTPError as error:
        error.close()
        return f"answers {error.code}"
    except Exception as error:  # the text of any may have the address
        return f"cannot be reached ({_cause(error)})"
    return ""


def _cause(error):
    """What an error is, in words that are not made of the address."""
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, ssl.SSLError):
        return cause.strerror
    return type(cause).__name__
