# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a node says of itself, as metrics."""

from __future__ import annotations

_MOST = 100  # units and patches of a node


def add(gauges, status, phases):
    """Add what M(kup_status) has found on one node.

    :param gauges: `exposition.Gauges`.
    :param status: dict as `status.gather` returns it.
    :param phases: names of all phases that a record can have.
    """
    _add_kernel(gauges, status["kernel"], status["looked"])
    current = status["last_update"]["phase"] or "none"
    gauges.add_states("kup_phase", "Phase of the last update of the node.", "phase", ("none", *phases), current)
    gauges.add("kup_leftovers", "Objects that an update or a panic has left.", len(status["leftovers"]))
    _add_reboot(gauges, status["reboot"], status["microcode"])
    _add_others(gauges, status["libraries"], status["livepatches"])


def _add_kernel(gauges, kernel, looked):
    releases = {name: kernel[name] for name in ("running", "installed", "available", "target")}
    gauges.add(
        "kup_kernel_info",
        "Releases of the node's kernels: running, installed, in its package lists, and wanted.",
        1,
        **releases,
    )
    gauges.add("kup_update_needed", "Whether the node does not run the kernel that is wanted.", kernel["needs_update"])
    started = round(looked - kernel["uptime_s"], 3)
    gauges.add("kup_kernel_start_timestamp_seconds", "When the running kernel was started, in Unix time.", started)
    gauges.add(
        "kup_kernel_build_timestamp_seconds", "When the running kernel was built, in Unix time.", kernel["built"]
    )
    gauges.add("kup_status_timestamp_seconds", "When the node was looked at, in Unix time.", round(looked, 3))


def _add_reboot(gauges, reboot, microcode):
    gauges.add("kup_reboot_required", "Whether packages ask for a reboot.", reboot["required"])
    gauges.add("kup_reboot_required_packages", "Packages that ask for a reboot.", len(reboot["packages"]))
    is_newer = reboot["microcode"] or microcode["is_newer"]
    gauges.add("kup_microcode_reboot_required", "Whether a reboot would bring newer microcode.", is_newer)


def _add_others(gauges, libraries, livepatches):
    gauges.add("kup_units_outdated", "Units that run code which an upgrade has replaced.", len(libraries["units"]))
    for each in libraries["units"][:_MOST]:
        meaning = "Replaced files with code that the unit has mapped."
        gauges.add("kup_unit_outdated_files", meaning, each["count"], unit=each["unit"])
    for patch in livepatches[:_MOST]:
        gauges.add(
            "kup_livepatch_enabled", "Whether the live patch is in force.", patch["enabled"], patch=patch["name"]
        )
