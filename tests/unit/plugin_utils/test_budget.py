# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a rollout goes on, and how its nodes are divided, by the facts that tasks leave with the nodes."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _domains, _plan


def fit(needs_update=True, phase="prepared"):
    return {"kup_checkpoint_fit": {"needs_update": needs_update, "phase": phase}}


WAITS = fit()
UP_TO_DATE = fit(needs_update=False, phase="committed")
BEGUN = fit(phase="probation")
COMMITTED = {**fit(), "kup_restore_kept": {"failed": False, "changed": True}}
FAILED = {**fit(), "__kup_failed": True, "__kup_unreached": False}
NOT_KEPT = {**FAILED, "kup_restore_kept": {"failed": True}}
PARTIAL = {**COMMITTED, "__kup_failed": True}
BACK = {"kup_checkpoint_fit": {"needs_update": True}, "__kup_went_back": True}
STOPS = {**FAILED, "kup_kexec_switched": {"record": {"stopped_by": ["a.service"]}}}
BROKE = {**COMMITTED, "__kup_failed": True, "__kup_broke": True}
HELD = {**fit(), "__kup_held": "the window closes"}
DOWN = {
    "__kup_failed": True,
    "__kup_lost": True,
    "__kup_unreached": True,
    "kup_checkpoint_fit": {"lost": True, "failed": True},
}


def budget(*facts, lost=(), batches=(), **limits):
    return _budget.Budget(named(facts), lost, batches, _budget.Limits(**limits))


def named(facts):
    return {f"n{number}": about for number, about in enumerate(facts, 1)}


@pytest.mark.parametrize(
    ("value", "total", "most", "least"),
    [
        (2, 10, 2, 2),
        ("2", 10, 2, 2),
        (20, 10, 20, 10),
        ("10%", 10, 1, 1),
        ("10%", 19, 1, 2),
        ("10%", 5, 0, 1),
        ("50%", 1, 0, 1),
        ("50%", 7, 3, 4),
        ("100%", 7, 7, 7),
    ],
)
def test_numbers_and_percentages(value, total, most, least):
    assert (_budget.at_most(value, total), _budget.at_least(value, total)) == (most, least)


@pytest.mark.parametrize("value", [None, "", "ten", -1, 1.5, True, "101%", "-1%", "1.5%", [1]])
def test_what_is_no_share_is_refused(value):
    with pytest.raises(KupError) as caught:
        _budget.share("kup_x", value, 0)
    assert str(caught.value).startswith(f"kup_x is {value!r}, expected a whole number of at least 0 or a percentage")


def test_who_counts_as_what():
    found = budget(WAITS, UP_TO_DATE, COMMITTED, FAILED, NOT_KEPT, PARTIAL, STOPS, DOWN, WAITS, lost=["n9", "n8"])
    assert found.committed == ["n3"]
    assert found.failed == ["n4", "n5", "n6", "n7", "n9"]
    assert found.unreachable == ["n8"]
    assert found.lost == ["n9"]
    assert found.stopping == ["n7"]


@pytest.mark.parametrize(
    ("facts", "ended"),
    [
        ({}, None),
        ({"kup_restore_kept": {"failed": False, "ended": 5.5}}, 5.5),
        ({"kup_restore_kept": {"failed": False, "ended": 5.5}, "__kup_turn_ended": 7.5}, 7.5),
        ({"__kup_turn_ended": 7.5}, 7.5),
    ],
)
def test_a_turn_ends_with_the_commit_or_with_what_follows_it(facts, ended):
    assert _budget.ended(facts) == ended


@pytest.mark.parametrize(
    ("facts", "limits", "objection"),
    [
        ([WAITS, WAITS], {}, ""),
        ([FAILED, WAITS], {}, "n1 failed, kup_max_failed allows 0"),
        ([FAILED, WAITS], {"max_failed": 1}, ""),
        ([FAILED, FAILED, WAITS], {"max_failed": "50%"}, "n1, n2 failed, kup_max_failed allows 50%"),
        ([FAILED, WAITS], {"max_failed": "50%"}, ""),
        ([DOWN, WAITS], {"max_failed": 1}, "n1 could not be reached, kup_max_unreachable allows 0"),
        ([DOWN, WAITS], {"max_unreachable": 1}, ""),
        ([DOWN, FAILED, WAITS], {"max_unreachable": 2}, "n2 failed, kup_max_failed allows 0"),
        ([STOPS, WAITS], {"max_failed": 5}, "n1 failed, on_failure of a service of n1 is stop"),
        ([BROKE, WAITS], {"max_failed": 5}, "n1 failed in the soak after its update (kup_soak)"),
        ([HELD, WAITS], {}, "the window closes"),
        ([HELD, FAILED, WAITS], {}, "n2 failed, kup_max_failed allows 0"),
        ([FAILED] * 8, {}, "n1, n2, n3, n4, n5 and 3 more failed, kup_max_failed allows 0"),
    ],
)
def test_budgets(facts, limits, objection):
    assert budget(*facts, **limits).objection() == objection


@pytest.mark.parametrize(
    ("facts", "limits", "objection"),
    [
        ([COMMITTED, COMMITTED, WAITS], {}, ""),
        ([COMMITTED, WAITS, WAITS], {}, "0 of batch 2 (n2, n3) committed, kup_batch_success (50%) expects 1"),
        ([WAITS, WAITS, WAITS], {}, "0 of batch 1 (n1) committed, kup_batch_success (50%) expects 1"),
        ([FAILED, WAITS, WAITS], {"max_failed": 5}, "0 of batch 1 (n1) committed, kup_batch_success (50%) expects 1"),
        ([PARTIAL, WAITS, WAITS], {"max_failed": 5}, "0 of batch 1 (n1) committed, kup_batch_success (50%) expects 1"),
        ([COMMITTED, COMMITTED, FAILED], {"max_failed": 1}, ""),
        ([BACK, BACK, WAITS], {"way": "back"}, ""),
        (
            [{**BACK, "__kup_failed": True}, WAITS, WAITS],
            {"way": "back", "max_failed": 5},
            "0 of batch 1 (n1) went back, kup_batch_success (50%) expects 1",
        ),
        (
            [COMMITTED, COMMITTED, FAILED],
            {"max_failed": 1, "batch_success": "51%"},
            "1 of batch 2 (n2, n3) committed, kup_batch_success (51%) expects 2",
        ),
        ([COMMITTED, COMMITTED, FAILED], {"max_failed": 1, "batch_success": 1}, ""),
    ],
)
def test_a_batch_begins_when_those_before_it_have_succeeded(facts, limits, objection):
    batches = [["n1"], ["n2", "n3"], ["n4"]]
    found = budget(*facts, WAITS, batches=batches, **limits)
    assert found.goes("n4") == (not objection, objection)


def test_the_first_batch_waits_for_nothing():
    assert budget(WAITS, WAITS, batches=[["n1"], ["n2"]]).goes("n1") == (True, "")


def test_the_last_batch_stops_nothing():
    assert budget(COMMITTED, FAILED, batches=[["n1"], ["n2"]], max_failed=1).objection() == ""


@pytest.mark.parametrize("facts", [UP_TO_DATE, FAILED, DOWN, {}])
def test_a_node_that_has_no_turn(facts):
    assert budget(facts, max_failed=5, max_unreachable=5).goes("n1") == (False, "")


def test_an_update_that_was_begun_goes_on_whatever_failed():
    assert budget(FAILED, BEGUN).goes("n2") == (True, "")


def test_once_a_node_was_held_the_rollout_has_stopped_and_what_was_begun_is_finished():
    found = budget(COMMITTED, HELD, WAITS, BEGUN, batches=[["n1"], ["n2", "n3"]])
    assert [found.goes(node) for node in ("n2", "n3")] == [(False, "the window closes")] * 2
    assert found.goes("n4") == (True, "")
    assert found.objection() == "the window closes"


LOST = {**FAILED, "__kup_lost": True}
BROKEN = {**FAILED, "kup_restore_settled": {"result": "failed"}}
BACK = {**FAILED, "kup_restore_settled": {"result": "fell_back"}}
DRAINED = {**BACK, "kup_drain_left": "stays drained at haproxy lb1 web"}


def test_who_is_out_of_service():
    found = budget(WAITS, COMMITTED, FAILED, LOST, BROKEN, BACK, DRAINED, DOWN, WAITS, lost=["n9"])
    assert found.out == ["n4", "n5", "n7", "n8", "n9"]


def test_a_domain_with_a_node_out_of_service_is_left_alone_and_others_go_on():
    facts = named([COMMITTED, LOST, WAITS, WAITS])
    domains = _domains.Domains({"n1": "a", "n2": "b", "n3": "a", "n4": "b"})
    limits = _budget.Limits(max_failed=1)
    found = _budget.Budget(facts, [], [["n1", "n2"], ["n3", "n4"]], limits, domains, [["n1", "n2"], ["n3", "n4"]])
    said = "n2 is out of service, and kup_domain_parallel (1) lets no further node of the domain b begin"
    assert found.goes("n3") == (True, "")
    assert found.goes("n4") == (False, said)
    # In the end the report says it, too.
    assert found.objection() == said


def divided(*facts, sizes=(1, "100%"), lost=()):
    begun, others = _budget.divide(named(facts), lost, lambda nodes: _plan.batches(nodes, list(sizes)))
    return begun + others


@pytest.mark.parametrize(
    ("facts", "batches"),
    [
        ([WAITS, WAITS, WAITS], [["n1"], ["n2", "n3"]]),
        ([UP_TO_DATE, WAITS, FAILED, DOWN, WAITS], [["n2"], ["n5"]]),
        ([WAITS, BEGUN, WAITS, BEGUN], [["n2", "n4"], ["n1"], ["n3"]]),
        ([BEGUN], [["n1"]]),
        ([UP_TO_DATE, DOWN], []),
        ([], []),
    ],
)
def test_batches_are_made_of_nodes_that_need_the_update(facts, batches):
    assert divided(*facts) == batches


def test_percentages_are_of_the_nodes_that_need_the_update():
    sizes = [len(batch) for batch in divided(*[UP_TO_DATE] * 10, *[WAITS] * 8, sizes=(1, "25%", "100%"))]
    assert sizes == [1, 2, 5]


def test_a_node_that_ansible_has_lost_is_in_no_batch():
    assert divided(WAITS, WAITS, lost=["n1"]) == [["n2"]]
