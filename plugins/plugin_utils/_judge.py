# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judgement at the end of a soak: metrics of the updated nodes against those of nodes that are not updated yet, or against their own before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ansible_collections.kup.fleet.plugins.plugin_utils import _address, _budget, _judgement, _prometheus

PACE, PATIENCE = 3, 30  # seconds between two questions to a Prometheus that does not answer, and for all of them
_NODES = 100  # whose values are asked for, of each side
_POINTS = 250  # values of a node
_COMPARED = 2000  # values of each side
_KEPT = 200  # values of each side in the report


@dataclass(frozen=True)
class Window:
    """The soak: times in seconds since the epoch, and seconds between two values."""

    begin: float
    end: float
    interval: float

    def step(self):
        """The interval, or a longer one where a node would have too many values."""
        return max(self.interval, (self.end - self.begin) / _POINTS)

    def before(self, moment):
        """As long a time that ends at ``moment``."""
        return replace(self, begin=moment - (self.end - self.begin), end=moment)


@dataclass(frozen=True)
class Sides:
    """``updated`` nodes, ``others`` that are not updated yet, and ``began``: dict updated node → when its update began, where it is known."""

    updated: tuple
    others: tuple
    began: dict

    def control(self, metric):
        """Whose values are compared with: "others", or "before" for those of the updated nodes themselves."""
        return metric.control if self.others else "before"


@dataclass(frozen=True)
class Outcome:
    """``worse``: dict node → a part of a sentence. ``reason``: why nothing can be said, a sentence without its full stop, or empty.

    ``metrics``: a dict for each metric, for the report.
    """

    worse: dict = field(default_factory=dict)
    reason: str = ""
    metrics: tuple = ()


class Unknown(Exception):
    """Nothing can be said; the text is a part of a sentence."""


def sides(facts, lost, updated):
    """The `Sides` of a rollout.

    :param facts: dict node → its facts, for all nodes.
    :param lost: nodes that Ansible has taken out of the play.
    :param updated: nodes that are judged.
    """
    out = {*lost, *updated}
    others = [
        node
        for node, about in facts.items()
        if node not in out and _budget.to_update(about) and not (_budget.committed(about) or _budget.under_way(about))
    ]
    # An outage before this rollout is in the values before of a node that it has found on probation.
    began = {node: _budget.began(facts[node]) for node in updated if not _budget.under_way(facts[node])}
    return Sides(tuple(_spread(updated, _NODES)), tuple(_spread(others, _NODES)), began)


def judge(place, metrics, all_sides, window, instances):
    """The `Outcome` of all ``metrics``.

    :param place: address of the Prometheus.
    :param instances: dict node → what stands for it in a query.
    :raises: one of `_prometheus.ERRORS`: it does not answer, or not so.
    """
    worse, reasons, about = {}, [], []
    for metric in metrics:
        source = _Source(place, metric, window, instances)
        try:
            bad, known = _judged(source, all_sides)
        except Unknown as error:
            # Another metric may show that nodes are worse.
            reasons.append(f"{metric.name} {error}")
            continue
        about.append(known)
        for node, sentence in bad.items():
            worse.setdefault(node, []).append(sentence)
    return Outcome({node: "; ".join(sentences) for node, sentences in worse.items()}, "; ".join(reasons), tuple(about))


@dataclass(frozen=True)
class _Source:
    """Asks for the values of one metric."""

    place: str
    metric: object
    window: Window
    instances: dict

    def values(self, node, window=None):
        """Those of a node in ``window`` (default: the soak); none if there is no series.

        :raises Unknown: there are several series.
        """
        when, query = window or self.window, self.metric.of(self.instances.get(node) or node)
        series = _prometheus.over(self.place, query, when.begin, when.end, when.step())
        if len(series) > 1:
            raise Unknown(
                f"has {len(series)} series of {node}, expected one; aggregate them in its query, as by sum(...)"
            )
        return series[0] if series else []


def _judged(source, all_sides):
    """(dict of nodes that are worse → sentence, dict for the report) of one metric."""
    metric, kind = source.metric, all_sides.control(source.metric)
    values, controls, control = _asked(source, all_sides, kind)
    flat = _flat(values.values())
    whole = _judgement.judge(_spread(flat, _COMPARED), control, metric.thresholds)
    if whole.verdict == "unknown" and not metric.optional:
        raise Unknown(
            f"has {len(flat)} values of updated nodes and {len(control)} {_other(kind, all_sides)}, too few to compare"
        )
    worse = _worse(values, controls, whole, metric.thresholds)
    about = _about(metric, kind, whole, flat, control)
    if worse:
        about["verdict"] = next(iter(worse.values())).verdict
    return {node: _sentence(metric, each, kind, all_sides) for node, each in worse.items()}, about


def _asked(source, all_sides, kind):
    """(dict updated node → its values, dict updated node → what it is compared with, what all are compared with)."""
    nodes = [node for node in all_sides.updated if kind == "others" or node in all_sides.began]
    values = {node: source.values(node) for node in nodes}
    missing = [node for node in nodes if not values[node]]
    if not source.metric.optional and not nodes:
        raise Unknown("cannot be compared with values before the update, which an earlier rollout has begun")
    if not source.metric.optional and missing:
        raise Unknown(f"has no values of {_budget.names(missing)} in the soak")
    if kind == "others":
        control = _spread(_flat(source.values(node) for node in all_sides.others), _COMPARED)
        return values, dict.fromkeys(nodes, control), control
    controls = {node: source.values(node, source.window.before(all_sides.began[node])) for node in nodes}
    return values, controls, _spread(_flat(controls.values()), _COMPARED)


def _worse(values, controls, whole, thresholds):
    """Dict node → judgement: nodes that are worse by themselves, else all, if they are worse together.

    One bad node among good ones hardly moves the values of all. With many nodes one is bad by chance, so that each is asked for more confidence
    (Bonferroni).
    """
    strict = replace(thresholds, confidence=1 - (1 - thresholds.confidence) / max(len(values), 1))
    alone = {node: _judgement.judge(of_node, controls[node], strict) for node, of_node in values.items()}
    bad = {node: each for node, each in alone.items() if each.is_worse}
    return bad or {node: whole for node, of_node in values.items() if of_node and whole.is_worse}


def _sentence(metric, judgement, kind, all_sides):
    shift = judgement.shift
    return (
        f"{metric.name} is {'higher' if judgement.verdict == 'high' else 'lower'} than {_other(kind, all_sides)}: "
        f"median {judgement.median:.4g} instead of {judgement.median_control:.4g}, shift {shift.estimate:.4g} "
        f"({100 * judgement.confidence:.4g} % interval {shift.low:.4g} to {shift.high:.4g}, p {shift.p:.2g})"
    )


def _other(kind, all_sides):
    if kind == "before":
        return "before the update"
    count = len(all_sides.others)
    return f"on {count} node{'' if count == 1 else 's'} not updated yet"


def _about(metric, kind, judgement, values, control):
    shift = judgement.shift
    numbers = {key: getattr(shift, key) for key in ("estimate", "low", "high", "p")} if shift else {}
    return {
        "name": metric.name,
        "verdict": judgement.verdict,
        "control": kind,
        "confidence": metric.thresholds.confidence,
        "median": judgement.median,
        "median_control": judgement.median_control,
        **numbers,
        "samples": [float(f"{value:.6g}") for value in _spread(values, _KEPT)],
        "samples_control": [float(f"{value:.6g}") for value in _spread(control, _KEPT)],
    }


def _flat(lists):
    return [value for each in lists for value in each]


def _spread(elements, most):
    """At most that many of ``elements``, evenly from all of them."""
    elements = list(elements)
    if len(elements) <= most:
        return elements
    return [elements[number * len(elements) // most] for number in range(most)]


def patiently(ask, place, clock, sleep):
    """What ``ask`` returns, an `Outcome`; while the Prometheus at ``place`` does not answer, it is asked again."""
    deadline, why = clock() + PATIENCE, ""
    while True:
        try:
            outcome = ask()
            break
        except _prometheus.ERRORS as error:
            why = _address.shortened(error)
        if clock() >= deadline:
            return Outcome(
                reason=f"{named(place)} cannot be asked ({why}), so that nobody knows whether updated nodes are worse"
            )
        sleep(PACE)
    return replace(outcome, reason=f"{named(place)}: {outcome.reason}") if outcome.reason else outcome


def named(place):
    return _prometheus.named("kup_judge", place)


def outlook(place, metrics, node, window, instances):
    """Whether the metrics have values of a node now: dict with ``place``, ``reason``, and ``counts``, the number of values by metric."""
    found = {"place": place if metrics else "", "reason": "", "counts": {}}
    for metric in metrics:
        try:
            values = _Source(place, metric, window, instances).values(node)
        except Unknown as error:
            return {**found, "reason": f"{metric.name} {error}"}
        except _prometheus.ERRORS as error:
            return {**found, "reason": f"{metric.name} cannot be asked for ({_address.shortened(error)})"}
        found["counts"][metric.name] = len(values)
        if not values and not metric.optional:
            found["reason"] = found["reason"] or f"{metric.name} has no values of {node}"
    return found


def line(about):
    """An `outlook` for a person; empty where nothing is judged."""
    if not about["place"]:
        return ""
    count = len(about["counts"])
    return f"judgement: {named(about['place'])}: {about['reason'] or f'{count} metric' + ('' if count == 1 else 's') + ' can be asked for'}"
