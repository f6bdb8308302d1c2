# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Alerts of Prometheus that let no node begin. Whatever cannot be known counts as an alert that is firing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, printable
from ansible_collections.kup.fleet.plugins.plugin_utils import _address, _permit, _prometheus, _values

_QUERY = 'ALERTS{alertstate="firing"}'
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_LONGEST = 200  # characters of a label that an expression is tried on
_NAMES = 5  # alerts that a sentence names
_SHOWN = 60  # characters of each


@dataclass(frozen=True)
class Filter:
    """``ignore``: expressions of names of alerts that do not count. ``match``: dict label → expression; others do not count.

    An expression is tried on the whole text, as Prometheus does. A label that an alert does not have is empty.
    """

    ignore: tuple = ()
    match: tuple = ()

    def counts(self, labels):
        """Whether an alert with these ``labels`` (dict) lets no node begin."""
        if any(_fits(expression, labels["alertname"]) for expression in self.ignore):
            return False
        return all(
            len(labels.get(label, "")) > _LONGEST or _fits(expression, labels.get(label, ""))
            for label, expression in self.match
        )


@dataclass(frozen=True)
class Answer:
    """``firing``: names of the alerts that count, sorted. ``reason`` why no node may begin: a sentence without its full stop, or empty."""

    firing: tuple = ()
    reason: str = ""


def check(place):
    """Check kup_alerts: the address of a Prometheus, or empty.

    :raises KupError: it is neither, or has what may be a secret.
    """
    if place:
        _prometheus.check("kup_alerts", place)


def check_ignore(expressions):
    """:raises KupError: one is no regular expression."""
    for expression in expressions:
        _compiled("kup_alerts_ignore has the element", expression)


def check_match(match):
    """Check kup_alerts_match.

    :raises KupError: a key is no name of a label, or a value no regular expression.
    """
    for label, expression in match.items():
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise KupError(
                f"kup_alerts_match has the key {_values.shown(label)}, expected the name of a label such as 'severity'."
            )
        _compiled(f"kup_alerts_match.{label} is", expression)


def _compiled(what, expression):
    try:
        re.compile(expression)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise KupError(
            f"{what} {_values.shown(expression)}, expected a regular expression such as 'Watchdog|Info.*'."
        ) from error


def filtered(ignore, match):
    """The `Filter` of the values of kup_alerts_ignore and kup_alerts_match."""
    return Filter(tuple(ignore), tuple(match.items()))


def _fits(expression, text):
    return len(text) <= _LONGEST and bool(re.fullmatch(expression, text))


def ask(place, alerts):
    """The `Answer` of the Prometheus at ``place``.

    :param alerts: the `Filter`.
    """
    try:
        found = [_labels(each) for each in _prometheus.instant(place, _QUERY, "alerts")]
        names = {labels["alertname"] for labels in found if alerts.counts(labels)}
    except _prometheus.ERRORS as error:
        why = _address.shortened(error)
        return Answer(reason=f"{_named(place)} cannot be asked ({why}), which counts as an alert that is firing")
    if not names:
        return Answer()
    return Answer(tuple(sorted(names)), f"{_named(place)}: {_sentence(sorted(names))}")


def _labels(each):
    labels = each.get("metric") if isinstance(each, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise ValueError("its answer has an alert without labels")
    if not labels.get("alertname") or labels.get("alertstate") != "firing":
        raise ValueError("its answer has something that is no alert")
    return labels


def _sentence(names):
    shown = ", ".join(printable(name[:_SHOWN]) for name in names[:_NAMES])
    if len(names) == 1:
        return f"the alert {shown} is firing"
    more = len(names) - _NAMES
    return f"the alerts {shown}{f' and {more} more' if more > 0 else ''} are firing"


def _named(place):
    return _prometheus.named("kup_alerts", place)


class Patience:
    """Lets a node wait while alerts are firing, and not for ever.

    :param asks: function that returns an `Answer`.
    :param seconds: that a node waits at a stretch.
    """

    def __init__(self, asks, seconds):
        self._asks = asks
        self._seconds = seconds
        self._since = None

    def state(self, now):
        """The `_permit.State` at ``now``."""
        reason = self._asks().reason
        if not reason:
            self._since = None
            return _permit.GO
        if self._since is None:
            self._since = now
        if now - self._since >= self._seconds:
            return _permit.State("stop", f"{reason}; kup_alerts_patience is {self._seconds} s")
        return _permit.State("wait", reason)

    def rest(self):
        """The node waits for something else: the time for alerts begins anew after that."""
        self._since = None


def outlook(place, alerts):
    """What it says now: dict with ``place``, ``firing`` and ``reason``."""
    answer = ask(place, alerts) if place else Answer()
    return {"place": place, "firing": list(answer.firing), "reason": answer.reason}


def line(about):
    """An `outlook` for a person; empty where nobody is asked."""
    return f"alerts: {about['reason'] or _named(about['place']) + ': none is firing'}" if about["place"] else ""
