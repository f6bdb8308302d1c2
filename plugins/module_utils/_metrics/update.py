# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What has become of a node's last update, as metrics."""

from __future__ import annotations

#: Results of a node at the end of its turn.
RESULTS = ("committed", "returned", "fell_back", "partial", "aborted", "failed", "lost")


def add(gauges, about, now):
    """Add what is known of an update that has come to an end.

    :param gauges: `exposition.Gauges`.
    :param about: dict with ``result``, and ``kernel_before``, ``kernel_after``, ``engine``, ``run_id``, ``outage_s``, each None if unknown.
    :param now: Unix time.
    """
    texts = {name: about.get(name) or "" for name in ("kernel_before", "kernel_after", "engine", "run_id")}
    gauges.add("kup_last_update_info", "Kernels, engine and rollout of the last update of the node.", 1, **texts)
    results = dict.fromkeys((*RESULTS, about["result"]))
    gauges.add_states(
        "kup_last_update_result", "What has become of the last update.", "result", results, about["result"]
    )
    gauges.add("kup_last_update_outage_seconds", "Outage of the services in the last update.", about.get("outage_s"))
    gauges.add("kup_last_update_timestamp_seconds", "When the last update ended, in Unix time.", round(now, 3))
