# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Metrics of a judgement: what is refused with which sentence, and how a node gets into a query."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _judge_metrics
from ansible_collections.kup.fleet.plugins.plugin_utils._judgement import Thresholds

ERRORS = {"name": "errors", "query": 'rate(errors_total{instance="$instance"}[1m])'}


def test_a_metric_and_its_defaults():
    (found,) = _judge_metrics.parse([ERRORS])
    assert found == _judge_metrics.Metric(
        "errors", ERRORS["query"], False, "others", Thresholds("either", 0.98, 0.25, 1, 1)
    )
    assert found.of("node1:9100") == 'rate(errors_total{instance="node1:9100"}[1m])'


def test_all_that_a_metric_may_say():
    more = {"optional": True, "control": "before"}
    thresholds = {
        "direction": "increase",
        "confidence": 0.99,
        "tolerance": 0,
        "allowed_increase": 1.1,
        "allowed_decrease": 0.9,
    }
    (found,) = _judge_metrics.parse([{**ERRORS, **more, **thresholds}])
    assert (found.optional, found.control, found.thresholds) == (True, "before", Thresholds(**thresholds))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": None}, "kup_judge has an element with the name None, expected a text of at most 60"),
        ({"name": " "}, "kup_judge has an element with the name ' ', expected a text"),
        ({"name": "a\nb"}, "kup_judge has an element with the name 'a\\nb', expected a text"),
        ({"name": "x" * 61}, "kup_judge has an element with the name 'xxx"),
        ({"name": 5}, "kup_judge has an element with the name 5, expected a text"),
        (
            {"directon": "increase"},
            "kup_judge has for errors the key 'directon', expected one of name, query, optional,",
        ),
        ({"query": None}, "query of errors in kup_judge is None, expected PromQL such as"),
        ({"query": 7}, "query of errors in kup_judge is 7, expected PromQL such as"),
        ({"query": "up $instance" * 999}, "query of errors in kup_judge is 'up $instance"),
        ({"query": "up"}, "query of errors in kup_judge has no $instance, which stands for the node"),
        ({"query": "up{instance=$instance}"}, "query of errors in kup_judge has $instance without quotes, expected"),
        ({"query": 'up{a="\\"", instance=$instance}'}, "query of errors in kup_judge has $instance without quotes"),
        ({"query": "up{a=`\\`, instance=$instance}"}, "query of errors in kup_judge has $instance without quotes"),
        ({"direction": "up"}, "direction of errors in kup_judge is 'up', expected one of increase, decrease, either."),
        ({"direction": ["increase"]}, "direction of errors in kup_judge is ['increase'], expected one of"),
        ({"control": "all"}, "control of errors in kup_judge is 'all', expected one of others, before."),
        ({"optional": "yes"}, "optional of errors in kup_judge is 'yes', expected true or false."),
        ({"confidence": 98}, "confidence of errors in kup_judge is 98, expected a number from 0.8 to 0.9999 such as"),
        ({"confidence": True}, "confidence of errors in kup_judge is True, expected a number"),
        ({"tolerance": -0.1}, "tolerance of errors in kup_judge is -0.1, expected a number from 0 to 0.99"),
        ({"tolerance": float("nan")}, "tolerance of errors in kup_judge is nan, expected a number"),
        ({"allowed_increase": 0.9}, "allowed_increase of errors in kup_judge is 0.9, expected a number of at least 1"),
        (
            {"allowed_decrease": "0.9"},
            "allowed_decrease of errors in kup_judge is '0.9', expected a number from 0 to 1",
        ),
    ],
)
def test_what_is_no_metric_is_refused(given, says):
    with pytest.raises(KupError) as caught:
        _judge_metrics.parse([{**ERRORS, **given}])
    assert str(caught.value).startswith(says)


def test_a_name_is_of_one_metric():
    with pytest.raises(KupError, match="^kup_judge has the name 'errors' more than once"):
        _judge_metrics.parse([ERRORS, {**ERRORS, "query": 'up{instance="$instance"}'}])


@pytest.mark.parametrize(
    "query",
    ['up{instance="$instance"}', "up{instance='$instance'}", 'up{a="\\\\", b="$instance"}', 'up{a=~`x"$instance`}'],
)
def test_a_node_stands_in_quotes(query):
    assert _judge_metrics.parse([{**ERRORS, "query": query}])


@pytest.mark.parametrize("instance", ["", "node1", "node-1.example.net:9100", "[2001:db8::7]:9100", "nöde", "a_b/c@d"])
def test_good_instances(instance):
    _judge_metrics.check_instance(instance)


@pytest.mark.parametrize(
    "instance", ['a"} or up{b="', "a'b", "a`b", "a\\", "a\nb", "a b", "a{b", "a,b", "x" * 201, "$instance", "a|b", ".*"]
)
def test_what_could_change_a_query_is_refused(instance):
    with pytest.raises(KupError, match="^kup_judge_instance is .*, expected the name of the node as Prometheus has it"):
        _judge_metrics.check_instance(instance)


GOOD = {"kup_judge": [ERRORS], "kup_judge_prometheus": "http://p", "kup_soak": 600, "kup_judge_interval": 30}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, ""),
        ({"kup_judge": []}, ""),
        ({"kup_judge": [], "kup_soak": 0, "kup_judge_prometheus": ""}, ""),
        (
            {"kup_judge_prometheus": ""},
            "kup_judge_prometheus is empty, expected the address of the Prometheus that kup_judge asks.",
        ),
        ({"kup_soak": 150}, ""),
        (
            {"kup_soak": 149},
            "kup_soak is 149 s, expected at least 150 s: kup_judge needs 5 values of a node, one each 30 s (kup_judge_interval).",
        ),
        ({"kup_soak": 0}, "kup_soak is 0 s, expected at least 150 s: "),
        (
            {"kup_judge": [ERRORS, {**ERRORS, "name": "b", "confidence": 0.999}], "kup_soak": 200},
            "kup_soak is 200 s, expected at least 240 s",
        ),
        # What is wrong by itself is said elsewhere.
        ({"kup_soak": None}, ""),
    ],
)
def test_what_variables_have_to_be_together(given, says):
    found = _judge_metrics.objection({**GOOD, **given})
    assert found.startswith(says) if says else found == ""
