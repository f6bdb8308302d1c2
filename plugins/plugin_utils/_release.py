# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One release for a whole rollout: what ``kup_kernel`` means is each node's answer, and their package lists may differ in age."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget


def differing(facts):
    """What is wrong with nodes that would get another release than others: dict node → sentence.

    A node that was asked for a whole release gets that one, whatever others get.

    :param facts: dict node → its facts.
    """
    # An update that is half done goes to the release with which it began.
    asked = {
        node: about["kup_checkpoint_fit"]["release"]
        for node, about in facts.items()
        if _budget.to_update(about) and not _budget.under_way(about)
    }
    newest = _newest(asked)
    wrong = {}
    for node, release in asked.items():
        selector = facts[node]["kup_checkpoint_fit"]["selector"]
        fitting = [
            (other, name) for other, name in newest.get(kernels.kind(release), []) if kernels.matches(selector, other)
        ]
        if release and fitting and fitting[0][0] != release:
            wrong[node] = (
                f"kup_kernel {selector} is {release} here, expected {fitting[0][0]} as on {fitting[0][1]}; "
                "run apt-get update on this node, or name one release in kup_kernel that all nodes have."
            )
    return wrong


def older(facts):
    """What is to be known of nodes that count as up to date with an older release than others get: sentences, one for each release.

    A node takes what it has installed of a series before what its package lists have.
    """
    getting = {node: about["kup_checkpoint_fit"] for node, about in facts.items() if _budget.to_update(about)}
    newest = _newest({node: fit["release"] for node, fit in getting.items()})
    found = {}
    for node, about in facts.items():
        fit = about.get("kup_checkpoint_fit") or {}
        running, selector = fit.get("running"), fit.get("selector")
        if about.get("__kup_failed") or fit.get("needs_update", True) or not running or not selector:
            continue
        fitting = [other for other, _first in newest.get(kernels.kind(running), []) if kernels.matches(selector, other)]
        if fitting and kernels.order(fitting[0]) > kernels.order(running):
            found.setdefault((running, selector, fitting[0]), []).append(node)
    return [
        f"{_budget.names(nodes)} run {running} and count as up to date, because it is what they have installed of kup_kernel {selector}; others get {other}. "
        "Name that release in kup_kernel to have them updated, too."
        for (running, selector, other), nodes in found.items()
    ]


def _newest(asked):
    """Dict kind → [(release, first node that has it)], newest first."""
    first = {}
    for node, release in asked.items():
        first.setdefault(release, node)
    found = {}
    for release in sorted(filter(None, first), key=kernels.order, reverse=True):
        found.setdefault(kernels.kind(release), []).append((release, first[release]))
    return found
