# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What has become of a node so far: its row of the report, of the facts that the tasks of the playbook leave with it."""

from __future__ import annotations

# Results of the rollout with which a node that has lost a part of its state is no longer called whole.
_WHOLE = ("committed", "fell_back")


def of(facts, node):
    """The row of ``node``, as `_report.joined` takes it. What is not known is None.

    :param facts: mapping of its variables and registered results.
    """
    fit, switched, returned, judged, rehearsed, staged = (
        facts.get(name) or {}
        for name in (
            "kup_checkpoint_fit",
            "kup_kexec_switched",
            "kup_restore_returned",
            "kup_restore_judged",
            "kup_checkpoint_rehearsed",
            "kup_kexec_staged",
        )
    )
    record = switched.get("record") or {}
    latest = {**switched, **returned}
    fresh = fresh_units(facts)
    # The way back of an update has an outage of its own, which is no part of the update's.
    timed = latest if facts.get("__kup_way") == "back" else switched
    return {
        "name": node,
        "result": _result(facts, fresh),
        "reason": _reason(facts),
        "fresh_units": fresh,
        "kernel_before": record.get("kernel_old") or fit.get("running"),
        "kernel_after": latest.get("kernel", fit.get("running")),
        "engine": record.get("engine"),
        "engine_reasons": staged.get("engine_reasons", []),
        "phases": switched.get("phases"),
        "outage_s": timed.get("outage_s"),
        "bytes": switched.get("bytes"),
        "memory": switched.get("memory"),
        "rehearsal": rehearsed.get("units"),
        "timeline": latest.get("timeline"),
        "units": latest.get("units"),
        "numbers": judged.get("numbers"),
        "boot_id_before": switched.get("boot_id_before"),
        "boot_id": latest.get("boot_id"),
    }


def record(facts):
    """The transaction record of the node as it has said it last; empty if it has not."""
    told = ((facts.get(name) or {}).get("record") for name in ("kup_restore_returned", "kup_kexec_switched"))
    return next(filter(None, told), {})


def fresh_units(facts):
    """Names of the node's services that have lost their state."""
    return record(facts).get("fresh_units") or []


def _result(facts, fresh):
    end = _end(facts)
    return "partial" if fresh and end in _WHOLE else end


def _end(facts):
    settled, kept, fit = (facts.get(name) for name in ("kup_restore_settled", "kup_restore_kept", "kup_checkpoint_fit"))
    has_failed = facts.get("__kup_failed")
    ends = (
        (settled, (settled or {}).get("result")),
        (facts.get("__kup_went_back") and not has_failed, "returned"),
        (facts.get("__kup_lost"), "lost"),
        (kept and not kept.get("failed"), "committed"),
        (has_failed, "failed"),
        (fit and not fit.get("needs_update"), "up_to_date"),
        (True, "pending"),
    )
    return next(result for holds, result in ends if holds)


def _reason(facts):
    trouble = (facts.get("kup_restore_settled") or {}).get("trouble")
    parts = (facts.get("__kup_reason"), f"and then: {trouble}" if trouble else "", facts.get("kup_drain_left"))
    # A task's message need be no text: that of ansible.builtin.assert may be a list.
    return "; ".join(map(str, filter(None, parts)))
