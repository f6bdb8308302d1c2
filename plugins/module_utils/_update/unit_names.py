# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Names of the systemd units that take a node from one kernel to another. The controller asks systemd for them by name."""

from __future__ import annotations

SWITCH = "kup-switch.service"
FALLBACK = "kup-fallback.service"
DEADLINE = "kup-deadline.service"
#: It leaves the node as it is.
REHEARSAL = "kup-rehearsal.service"

#: Each of these changes the record while it runs.
ALL = (SWITCH, FALLBACK, DEADLINE)
