# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is judged against whom, over which time, and what follows where nothing can be said."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _judge, _judge_metrics
from ansible_collections.kup.fleet.plugins.plugin_utils._judge import Outcome, Sides, Window

FIT = {"kup_checkpoint_fit": {"needs_update": True, "phase": "prepared"}}
RESUMED = {"kup_checkpoint_fit": {"needs_update": True, "phase": "probation"}}
KEPT = {"kup_restore_kept": {"failed": False}, "kup_asked": {"turn": True, "at": 500.0}}
PLACE = "http://127.0.0.1:9090"
SOAK = Window(1000.0, 1600.0, 30)
ALL = Sides(("a",), ("b", "c"), {"a": 500.0})


def metric(**more):
    return _judge_metrics.parse([{"name": "errors", "query": 'errors{instance="$instance"}', **more}])[0]


class Prometheus:
    """In place of `_prometheus.over`: ``means`` is a dict node → mean of its values, or a list of those of several series.

    ``asked`` has (node, begin, end, step) of each question.
    """

    def __init__(self, monkeypatch, means):
        self.asked, self._means = [], means
        monkeypatch.setattr(_judge._prometheus, "over", self._over)

    def _over(self, place, query, begin, end, step):
        assert place == PLACE
        node = query.split('"')[1]
        self.asked.append((node, begin, end, step))
        means = self._means(node, end) if callable(self._means) else self._means.get(node, 1.0)
        chance = random.Random(f"{node} {end}")
        count = int((end - begin) / step) + 1
        means = means if isinstance(means, list) else [means]
        return [[mean + chance.uniform(0, 0.1) for _number in range(count)] for mean in means]


def judged(*metrics, sides=ALL, window=SOAK, instances=None):
    return _judge.judge(PLACE, metrics or [metric()], sides, window, instances or {})


@pytest.mark.parametrize(
    ("facts", "lost", "sides"),
    [
        ({"a": {**FIT, **KEPT}, "b": FIT, "c": FIT}, [], ALL),
        # Neither who has failed, nor is lost, nor needs nothing, is what others are compared with.
        ({"a": {**FIT, **KEPT}, "b": {**FIT, "__kup_failed": True}, "c": FIT}, ["c"], Sides(("a",), (), {"a": 500.0})),
        (
            {"a": {**FIT, **KEPT}, "b": {"kup_checkpoint_fit": {"needs_update": False}}},
            [],
            Sides(("a",), (), {"a": 500.0}),
        ),
        ({"a": {**FIT, **KEPT}, "b": RESUMED, "c": {**FIT, **KEPT}}, [], Sides(("a",), (), {"a": 500.0})),
        # Its values before are those of an update, too.
        ({"a": {**RESUMED, **KEPT}, "b": FIT, "c": FIT}, [], replace(ALL, began={})),
    ],
)
def test_who_is_compared_with_whom(facts, lost, sides):
    assert _judge.sides(facts, lost, ["a"]) == sides


def test_of_many_nodes_some_are_asked_for():
    facts = {f"n{number}": {**FIT, **KEPT} if number < 500 else dict(FIT) for number in range(1000)}
    found = _judge.sides(facts, [], [f"n{number}" for number in range(500)])
    assert (len(found.updated), len(found.others)) == (100, 100)
    assert (found.updated[:2], found.others[-1]) == (("n0", "n5"), "n995")


def test_updated_nodes_against_others_over_the_same_time(monkeypatch):
    server = Prometheus(monkeypatch, {})
    outcome = judged(instances={"b": "b:9100"})
    assert server.asked == [(name, 1000.0, 1600.0, 30) for name in ("a", "b:9100", "c")]
    assert (outcome.worse, outcome.reason, outcome.metrics[0]["verdict"]) == ({}, "", "pass")


@pytest.mark.parametrize(
    ("sides", "more"), [(replace(ALL, others=()), {}), (ALL, {"control": "before"})], ids=["none left", "wanted"]
)
def test_updated_nodes_against_themselves_before(monkeypatch, sides, more):
    server = Prometheus(monkeypatch, lambda _node, end: 1.0 if end == 500.0 else 3.0)
    outcome = judged(metric(**more), sides=sides)
    assert server.asked == [("a", 1000.0, 1600.0, 30), ("a", -100.0, 500.0, 30)]
    assert outcome.worse["a"].startswith("errors is higher than before the update: median 3.0")
    assert outcome.metrics[0]["control"] == "before"


def test_each_node_is_compared_with_itself_before(monkeypatch):
    # Nodes may differ from each other.
    Prometheus(
        monkeypatch, lambda node, end: {"a": 1.0, "d": 9.0}[node] if end == 500.0 else {"a": 3.0, "d": 9.0}[node]
    )
    outcome = judged(sides=Sides(("a", "d"), (), {"a": 500.0, "d": 500.0}))
    assert list(outcome.worse) == ["a"]
    assert " instead of 1.0" in outcome.worse["a"]


def test_a_long_soak_has_longer_intervals(monkeypatch):
    server = Prometheus(monkeypatch, {})
    judged(window=Window(0.0, 25000.0, 30))
    assert {asked[-1] for asked in server.asked} == {100.0}


def test_a_node_that_is_worse_by_itself_is_named_alone(monkeypatch):
    sides = replace(ALL, updated=("a", "d"))
    Prometheus(monkeypatch, {"a": 1.0, "d": 5.0})
    outcome = judged(sides=sides)
    assert (list(outcome.worse), outcome.metrics[0]["verdict"]) == (["d"], "high")
    assert outcome.worse["d"].startswith("errors is higher than on 2 nodes not updated yet: median 5.0")
    assert " (99 % interval " in outcome.worse["d"]


def test_nodes_that_are_worse_together_are_all_named(monkeypatch):
    Prometheus(monkeypatch, {"a": 1.5, "d": 1.5})
    # Three values of each are too few for each alone.
    outcome = judged(sides=replace(ALL, updated=("a", "d")), window=Window(1000.0, 1003.0, 1.5))
    assert list(outcome.worse) == ["a", "d"]


def test_each_metric_is_judged_and_only_the_bad_direction_counts(monkeypatch):
    Prometheus(monkeypatch, {"a": 5.0})
    metrics = [metric(), metric(name="rate", direction="decrease"), metric(name="wait", direction="increase")]
    outcome = judged(*metrics)
    assert [each["verdict"] for each in outcome.metrics] == ["high", "pass", "high"]
    assert outcome.worse["a"].count("; ") == 1
    assert "; wait is higher than " in outcome.worse["a"]


@pytest.mark.parametrize(
    ("means", "sides", "why"),
    [
        ({"a": []}, ALL, "errors has no values of a in the soak"),
        (
            {"b": [], "c": []},
            ALL,
            "errors has 21 values of updated nodes and 0 on 2 nodes not updated yet, too few to compare",
        ),
        ({"a": [1.0, 1.0]}, ALL, "errors has 2 series of a, expected one; aggregate them in its query, as by sum(...)"),
        ({"c": [1.0] * 3}, ALL, "errors has 3 series of c, expected one; aggregate them in its query, as by sum(...)"),
        (
            {},
            Sides(("a",), (), {}),
            "errors cannot be compared with values before the update, which an earlier rollout has begun",
        ),
    ],
)
def test_where_nothing_can_be_said(monkeypatch, means, sides, why):
    Prometheus(monkeypatch, means)
    assert judged(sides=sides) == Outcome(reason=why)


def test_what_one_metric_does_not_say_another_may(monkeypatch):
    server = Prometheus(monkeypatch, {"a": 5.0})
    gone = metric(name="gone", query='gone{a="",instance="$instance"}')
    server._means[""] = []
    outcome = judged(gone, metric(), replace(gone, name="lost"))
    assert list(outcome.worse) == ["a"]
    assert outcome.reason == "gone has no values of a in the soak; lost has no values of a in the soak"


@pytest.mark.parametrize("means", [{"a": []}, {"b": [], "c": []}])
def test_an_optional_metric_may_be_without_values(monkeypatch, means):
    Prometheus(monkeypatch, means)
    outcome = judged(metric(optional=True))
    assert (outcome.worse, outcome.reason, outcome.metrics[0]["verdict"]) == ({}, "", "unknown")


def test_what_the_report_keeps_is_bounded(monkeypatch):
    names = tuple(f"n{number}" for number in range(20))
    Prometheus(monkeypatch, {})
    (about,) = judged(sides=Sides(names, names, {}), window=Window(0, 250, 1)).metrics
    assert (len(about["samples"]), len(about["samples_control"])) == (200, 200)
    assert len(json.dumps(about)) < 5000


def test_a_prometheus_that_does_not_answer_is_asked_again_and_not_for_ever():
    now, answers = [0.0], []

    def ask():
        if answers:
            raise answers.pop(0)
        return Outcome(reason="errors has no values of a in the soak")

    def sleep(seconds):
        now[0] += seconds

    def patiently():
        return _judge.patiently(ask, PLACE, lambda: now[0], sleep).reason

    answers[:] = [TimeoutError("timed out")] * 3
    assert patiently() == "kup_judge (http://127.0.0.1:9090): errors has no values of a in the soak"
    assert now[0] == 9
    answers[:] = [TimeoutError("timed out")] * 99
    assert patiently() == (
        "kup_judge (http://127.0.0.1:9090) cannot be asked (timed out), so that nobody knows whether updated nodes are worse"
    )
    assert now[0] == 9 + 30


@pytest.mark.parametrize(
    ("means", "line"),
    [
        ({}, "judgement: kup_judge (http://127.0.0.1:9090): 1 metric can be asked for"),
        ({"a": []}, "judgement: kup_judge (http://127.0.0.1:9090): errors has no values of a"),
        (
            {"a": [1.0, 1.0]},
            "judgement: kup_judge (http://127.0.0.1:9090): errors has 2 series of a, expected one; aggregate",
        ),
    ],
)
def test_the_plan_says_whether_there_are_metrics(monkeypatch, means, line):
    Prometheus(monkeypatch, means)
    assert _judge.line(_judge.outlook(PLACE, [metric()], "a", SOAK, {})).startswith(line)


def test_the_plan_says_that_nobody_answers():
    about = _judge.outlook("http://127.0.0.1:1", [metric()], "a", SOAK, {})
    assert about["reason"].startswith("errors cannot be asked for (")
    assert _judge.line(_judge.outlook("", [], "a", SOAK, {})) == ""
