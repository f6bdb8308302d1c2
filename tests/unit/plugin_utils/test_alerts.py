# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which alerts let no node begin. Whatever is not clear counts as an alert."""

from __future__ import annotations

import http.server
import json
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _address, _alerts, _permit, _prometheus
from tests.rollout.prometheus import alert, says, serving, vector

HIGH = alert("HighErrorRate", severity="critical", instance="web1:9100", job="node")
WATCHDOG = alert("Watchdog", severity="none")
DISK = alert("DiskFillsUp", severity="warning", instance="web2:9100")
ALL = _alerts.Filter()


def asked(answer, alerts=ALL, path=""):
    """What comes of one question."""
    with serving(lambda _path: answer) as server:
        found = _alerts.ask(f"{server.address}{path}", alerts)
    assert len(server.asked) <= 1
    return found


def test_the_question_is_for_alerts_that_are_firing():
    with serving(lambda _path: says()) as server:
        for ending in ("", "/"):
            assert _alerts.ask(f"{server.address}/prometheus{ending}", ALL) == _alerts.Answer()
    for path, _authorization in server.asked:
        assert urlsplit(path).path == "/prometheus/api/v1/query"
        assert parse_qs(urlsplit(path).query) == {"query": ['ALERTS{alertstate="firing"}']}


def test_the_reason_names_the_alert_and_where_it_was_asked():
    found = asked(says(HIGH))
    assert found.firing == ("HighErrorRate",)
    assert found.reason.startswith("kup_alerts (http://127.0.0.1:")
    assert found.reason.endswith("): the alert HighErrorRate is firing")


def test_many_alerts_are_named_once_each_and_not_all():
    found = asked(says(HIGH, HIGH, DISK))
    assert found.reason.endswith(": the alerts DiskFillsUp, HighErrorRate are firing")
    found = asked(says(*(alert(f"a{number}") for number in range(9))))
    assert found.reason.endswith(": the alerts a0, a1, a2, a3, a4 and 4 more are firing")
    assert len(found.firing) == 9


def test_a_name_is_text_only():
    found = asked(says(alert("a\x1b[2J\n" + "x" * 500)))
    assert found.reason.endswith("x is firing")
    assert "\\x1b[2J\\n" in found.reason
    assert found.reason.isprintable()
    assert len(found.reason) < 200


@pytest.mark.parametrize(
    ("ignore", "match", "firing"),
    [
        ([], {}, ("DiskFillsUp", "HighErrorRate", "Watchdog")),
        (["Watchdog"], {}, ("DiskFillsUp", "HighErrorRate")),
        (["Watch", "dog", "highErrorRate"], {}, ("DiskFillsUp", "HighErrorRate", "Watchdog")),
        (["Watchdog|Disk.*"], {}, ("HighErrorRate",)),
        ([".*"], {}, ()),
        ([], {"severity": "critical|page"}, ("HighErrorRate",)),
        ([], {"severity": "critic"}, ()),
        ([], {"severity": ".+", "instance": "web.:9100"}, ("DiskFillsUp", "HighErrorRate")),
        # A label that an alert does not have is empty.
        ([], {"instance": ""}, ("Watchdog",)),
        (["High.*"], {"severity": "critical"}, ()),
    ],
)
def test_which_alerts_count(ignore, match, firing):
    assert asked(says(HIGH, WATCHDOG, DISK), _alerts.filtered(ignore, match)).firing == firing


def test_a_text_that_is_too_long_for_an_expression_counts():
    long = alert("x" * 300, severity="y" * 300)
    assert asked(says(long), _alerts.filtered([".*"], {"severity": "z"})).firing == ("x" * 300,)


GOOD = json.dumps(vector()).encode()
UNKNOWN = {
    "unavailable": ((503, {}, GOOD), "HTTP Error 503"),
    "bad request": ((400, {}, b'{"status":"error","errorType":"bad_data","error":"x"}'), "HTTP status 400, x"),
    "login": ((401, {}, GOOD), "HTTP Error 401"),
    "not found": ((404, {}, GOOD), "HTTP Error 404"),
    "redirection": ((302, {"Location": "/elsewhere"}, GOOD), "HTTP Error 302"),
    "moved": ((308, {"Location": "http://127.0.0.1:1/"}, GOOD), "HTTP Error 308"),
    "other success": ((203, {}, GOOD), "HTTP status 203"),
    "nothing": ((200, {}, b""), "no JSON"),
    "page": ((200, {}, b"<html>login</html>"), "no JSON"),
    "cut": ((200, {}, GOOD[:-1]), "no JSON"),
    "binary": ((200, {}, b"\xff\xfe\x00"), "no JSON"),
    "deep": ((200, {}, b"[" * 500_000), "cannot be asked"),
    "list": ((200, {}, b"[]"), "none of Prometheus"),
    "error": ((200, {}, b'{"status":"error"}'), "none of Prometheus"),
    "matrix": ((200, {}, GOOD.replace(b"vector", b"matrix")), "none of Prometheus"),
    "no result": ((200, {}, b'{"status":"success","data":{"resultType":"vector"}}'), "none of Prometheus"),
    "warnings": (says(warnings=["No StoreAPIs matched for this query"]), "alerts may be missing"),
    "number": (says(7), "without labels"),
    "no labels": (says({"value": [0, "1"]}), "without labels"),
    "label": (says({"metric": {"alertname": ["x"]}}), "without labels"),
    "series": (says({"metric": {"__name__": "up", "alertstate": "firing"}}), "is no alert"),
    "pending": (says(alert("x", alertstate="pending")), "is no alert"),
    "too long": ((200, {}, b" " * (1 << 20) + GOOD), "longer than 1048576 bytes"),
    "too long in parts": ((200, {}, [b" " * 65536] * 17), "longer than 1048576 bytes"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_no_answer_counts_as_an_alert(case):
    answer, why = UNKNOWN[case]
    # Whatever is ignored.
    found = asked(answer, _alerts.filtered([".*"], {}))
    assert why in found.reason
    assert found.reason.endswith("), which counts as an alert that is firing")
    assert (found.firing, len(found.reason) < 300) == ((), True)


def test_an_answer_just_short_enough_is_read():
    assert asked((200, {}, GOOD + b" " * ((1 << 20) - len(GOOD)))) == _alerts.Answer()


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(_prometheus, "_PATIENCE", 0.2)
    server = http.server.socketserver.TCPServer(("127.0.0.1", 0), None, bind_and_activate=True)
    silent = f"http://127.0.0.1:{server.server_address[1]}"
    assert "timed out" in _alerts.ask(silent, ALL).reason
    server.server_close()
    assert "refused" in _alerts.ask(silent, ALL).reason


def drip():
    for byte in GOOD:
        time.sleep(0.1)
        yield bytes([byte])


def test_an_answer_that_drips_has_an_end(monkeypatch):
    monkeypatch.setattr(_prometheus, "_PATIENCE", 0.5)
    began = time.monotonic()
    assert "no whole answer within 0.5 s" in asked((200, {}, drip())).reason
    assert time.monotonic() - began < 5


def test_an_account_is_taken_from_netrc_and_a_broken_one_is_not_shown(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(netrc))
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    with serving(lambda _path: says()) as server:
        assert _alerts.ask(server.address, ALL) == _alerts.Answer()
        assert server.asked[0][1].startswith("Basic ")
        netrc.write_text("machine 127.0.0.1 secret hidden\n")
        assert "~/.netrc is broken" in _alerts.ask(server.address, ALL).reason


@pytest.mark.parametrize("place", ["", "http://127.0.0.1:9090", "https://example.net/prometheus/", "http://[::1]:9090"])
def test_good_places(place):
    _alerts.check(place)


@pytest.mark.parametrize("place", ["prometheus:9090", "ftp://example.net", "http://", "http://[::1/", "https://a b/"])
def test_a_place_that_cannot_be_asked_is_refused(place):
    with pytest.raises(KupError, match=r"^kup_alerts is .*, expected an address such as 'https://prometheus"):
        _alerts.check(place)


@pytest.mark.parametrize(
    "place", ["https://me:secret@example.net", "https://example.net/?token=secret", "http://a#secret"]
)
def test_a_secret_is_refused_and_not_shown(place):
    with pytest.raises(KupError) as caught:
        _alerts.check(place)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("expression", ["(", "*", None, 3, ["a"]])
def test_what_is_no_expression_is_refused(expression):
    for check, value, name in (
        (_alerts.check_ignore, ["Watchdog", expression], "kup_alerts_ignore has the element"),
        (_alerts.check_match, {"severity": expression}, "kup_alerts_match.severity is"),
    ):
        with pytest.raises(KupError) as caught:
            check(value)
        assert str(caught.value).startswith(f"{name} {expression!r}, expected a regular expression such as")


@pytest.mark.parametrize("label", ["", "a-b", "ä", 3, "a b"])
def test_what_is_no_label_is_refused(label):
    with pytest.raises(KupError, match="^kup_alerts_match has the key .*, expected the name of a label"):
        _alerts.check_match({label: "x"})


def test_a_node_waits_for_alerts_and_not_for_ever():
    answers = []
    patience = _alerts.Patience(lambda: _alerts.Answer(reason=answers.pop(0)), 60)
    answers[:] = ["x fires", "x fires", "", "y fires", "y fires", "y fires"]
    states = [patience.state(now) for now in (0, 59, 61, 62, 121, 122)]
    assert [state.verdict for state in states] == ["wait", "wait", "go", "wait", "wait", "stop"]
    assert states[-1].reason == "y fires; kup_alerts_patience is 60 s"


def test_a_pause_is_no_time_of_patience():
    patience = _alerts.Patience(lambda: _alerts.Answer(reason="x fires"), 60)
    assert patience.state(0).verdict == "wait"
    patience.rest()
    assert (patience.state(1000).verdict, patience.state(1060).verdict) == ("wait", "stop")


def test_no_patience_stops_at_the_first_alert():
    assert _alerts.Patience(lambda: _alerts.Answer(reason="x fires"), 0).state(5) == _permit.State(
        "stop", "x fires; kup_alerts_patience is 0 s"
    )


def test_the_plan_says_which_alerts_are_firing():
    assert _alerts.line(_alerts.outlook("", ALL)) == ""
    with serving(lambda path: says(HIGH) if "/bad/" in path else says()) as server:
        good, bad = (_alerts.outlook(f"{server.address}/{word}", ALL) for word in ("good", "bad"))
    assert (good["firing"], bad["firing"]) == ([], ["HighErrorRate"])
    assert _alerts.line(good) == f"alerts: kup_alerts ({server.address}): none is firing"
    assert _alerts.line(bad) == f"alerts: {bad['reason']}"


def test_an_address_is_read_within_its_bounds():
    with serving(lambda _path: (200, {}, b"x" * 100)) as server:
        assert _address.read(server.address, 64, 5) == b"x" * 64
