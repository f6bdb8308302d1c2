# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The metrics of kup_judge as users give them: what is asked of Prometheus for a node, and when the values are worse."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _mann_whitney, _values
from ansible_collections.kup.fleet.plugins.plugin_utils._judgement import DIRECTIONS, Thresholds

PLACE = "$instance"  # of the node's name in a query
CONTROLS = ("others", "before")
_THRESHOLDS = tuple(each.name for each in fields(Thresholds))
_KEYS = ("name", "query", "optional", "control", *_THRESHOLDS)
_LONGEST_NAME, _LONGEST_QUERY = 60, 4000  # characters
#: Neither ends a text of PromQL nor begins anything in it, whatever quotes are about it.
_INSTANCE = re.compile(r"[\w.:/@\[\]%-]{1,200}")
#: key → (least, most, what is expected)
_RANGES = {
    "confidence": (0.8, 0.9999, "a number from 0.8 to 0.9999 such as 0.98"),
    "tolerance": (0, 0.99, "a number from 0 to 0.99 such as 0.25"),
    "allowed_increase": (1, 1e6, "a number of at least 1 such as 1.1"),
    "allowed_decrease": (0, 1, "a number from 0 to 1 such as 0.9"),
}


@dataclass(frozen=True)
class Metric:
    """``control``: whose values others are compared with, of `CONTROLS`. ``optional``: whether it may be without values."""

    name: str
    query: str
    optional: bool = False
    control: str = "others"
    thresholds: Thresholds = Thresholds()

    def of(self, instance):
        """The query for a node. ``instance`` is a value that `check_instance` has let pass."""
        return self.query.replace(PLACE, instance)


def parse(metrics):
    """List of `Metric` of the value of kup_judge.

    :raises KupError: something is wrong with an element.
    """
    found = [_metric(element) for element in metrics]
    names = [metric.name for metric in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise KupError(f"kup_judge has the name {twice[0]!r} more than once, expected another name for each metric.")
    return found


def _metric(element):
    name = element.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise KupError(
            f"kup_judge has an element with the name {_values.shown(name)}, expected a text of at most {_LONGEST_NAME} characters such as 'errors'."
        )
    strange = sorted(set(element) - set(_KEYS), key=str)
    if strange:
        raise KupError(f"kup_judge has for {name} the key {strange[0]!r}, expected one of {', '.join(_KEYS)}.")
    _check_query(name, element.get("query"))
    _check_choice(name, element, "direction", DIRECTIONS)
    _check_choice(name, element, "control", CONTROLS)
    if not isinstance(element.get("optional", False), bool):
        raise KupError(
            f"optional of {name} in kup_judge is {_values.shown(element['optional'])}, expected true or false."
        )
    for key in _RANGES:
        _check_range(name, element, key)
    thresholds = Thresholds(**{key: element[key] for key in _THRESHOLDS if key in element})
    return Metric(**{key: element[key] for key in _KEYS[:4] if key in element}, thresholds=thresholds)


def _check_query(name, query):
    if not isinstance(query, str) or not query.strip() or len(query) > _LONGEST_QUERY:
        raise KupError(
            f"query of {name} in kup_judge is {_values.shown(query)}, expected PromQL such as "
            f"'rate(http_errors_total{{instance=\"{PLACE}\"}}[1m])'."
        )
    if PLACE not in query:
        raise KupError(
            f"query of {name} in kup_judge has no {PLACE}, which stands for the node; "
            f'without it all nodes have the same values, expected it as in {{instance="{PLACE}"}}.'
        )
    if not _is_quoted(query):
        raise KupError(
            f'query of {name} in kup_judge has {PLACE} without quotes, expected it as in {{instance="{PLACE}"}}.'
        )


def _is_quoted(query):
    """Whether each place of a node is within a text of PromQL."""
    quote, position = "", 0
    while position < len(query):
        character = query[position]
        if not quote and query.startswith(PLACE, position):
            return False
        if quote and quote != "`" and character == "\\":
            position += 1
        elif character in (quote or "\"'`"):
            quote = "" if quote else character
        position += 1
    return True


def _check_choice(name, element, key, choices):
    if key in element and element[key] not in choices:
        raise KupError(
            f"{key} of {name} in kup_judge is {_values.shown(element[key])}, expected one of {', '.join(choices)}."
        )


def _check_range(name, element, key):
    value, (least, most, expected) = element.get(key), _RANGES[key]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if key in element and not (is_number and least <= value <= most):
        raise KupError(f"{key} of {name} in kup_judge is {_values.shown(value)}, expected {expected}.")


def check_instance(instance):
    """Check what stands for a node in a query, empty for its own name.

    :raises KupError: it has what it may not have in a query.
    """
    if instance and not _INSTANCE.fullmatch(instance):
        raise KupError(
            f"kup_judge_instance is {_values.shown(instance)}, expected the name of the node as Prometheus has it, "
            "of letters, digits and . : / @ [ ] % _ - such as 'node1:9100'."
        )


def objection(values):
    """What is wrong with the values of variables of one host together: a sentence, or empty.

    :param values: dict name → value of those that are right by themselves.
    """
    if not values.get("kup_judge"):
        return ""
    if values.get("kup_judge_prometheus") == "":
        return "kup_judge_prometheus is empty, expected the address of the Prometheus that kup_judge asks."
    return _too_short(values)


def _too_short(values):
    soak, interval = values.get("kup_soak"), values.get("kup_judge_interval")
    if soak is None or not interval:
        return ""
    metrics = parse(values["kup_judge"])
    wanted = max(least(metric.thresholds.confidence) for metric in metrics)
    if soak >= wanted * interval:
        return ""
    return (
        f"kup_soak is {soak} s, expected at least {wanted * interval} s: kup_judge needs {wanted} values of a node, "
        f"one each {interval} s (kup_judge_interval)."
    )


def least(confidence):
    """The least number of values on each side with which anything can be said."""
    return next(count for count in range(1, 1000) if _mann_whitney.is_enough(count, count, confidence))
