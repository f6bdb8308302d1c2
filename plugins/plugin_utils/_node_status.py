# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One look at a node from outside, and what it means: still under way, or come to an end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.module_utils._paths import OFF_VAR, ON_VAR, RUN
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update import unit_names
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

#: Shell command that prints what `parse` reads. Cheap, of few processes: it runs up to twice a second while the node has better things to do.
COMMAND = (
    r"read -r up _ </proc/uptime; read -r boot </proc/sys/kernel/random/boot_id; read -r kernel </proc/sys/kernel/osrelease; "
    rf"restored=no; [ ! -e {RUN}/restore-done ] || restored=yes; "
    r'printf "boot %s\nkernel %s\nuptime %s\nrestored %s\nbusy %s\n" "$boot" "$kernel" "$up" "$restored" '
    # What runs; not what only waits to be tried again (auto-restart).
    rf'"$(systemctl show --property=SubState --value {" ".join(unit_names.ALL)} | grep -c -e ^start -e ^running -e ^stop -e ^final)"; '
    # Pending pages (`pending_memory`), as the page daemon reports them.
    rf'set -- {RUN}/*.pending; [ ! -e "$1" ] || systemctl show --property=StatusText "kup-paged-*"; '
    rf"cd {OFF_VAR} 2>/dev/null || cd {ON_VAR} 2>/dev/null && cat record record.copy 2>/dev/null || true"
)

_HEAD = re.compile(
    r"^boot ([0-9a-f-]{36})\nkernel (\S+)\nuptime (\d{1,12}\.\d+)\nrestored (yes|no)\nbusy (\d+)\n((?:StatusText=.*\n|\n)*)",
    re.MULTILINE,
)
#: Characters before it, such as sudo's lecture or what a .bashrc prints. Ansible tolerates them before the answer of a module, too.
_BEFORE_MAX = 1 << 16


@dataclass(frozen=True)
class NodeStatus:
    """What a look has found.

    ``boot_id``, ``kernel``, ``uptime`` (seconds), ``restored`` (the restore of this boot is done), ``busy`` (a switch runs), ``record``,
    ``pending`` (pages, as text).
    """

    boot_id: str
    kernel: str
    uptime: float
    restored: bool
    busy: bool
    record: Record
    pending: str = ""

    @property
    def phase(self):
        """The record's phase; empty where there has never been an update."""
        return self.record["PHASE"]

    def state(self):
        """What the node has come to: None while it is under way.

        A phase of the record, or ``none`` (there is no record), or ``interrupted`` (stopped in the middle of writing the
        checkpoint).
        """
        if self.busy or self.pending or self.phase in ("switching", "returning"):
            return None
        if self.phase == "probation":
            # Any other boot in this phase is on its way back to where the applications run.
            return "probation" if self.restored and self.kernel == self.record["KERNEL_NEW"] else None
        if self.phase == "checkpointing":
            return "interrupted"
        return self.phase or "none"

    def text(self):
        """For a person who watches."""
        return f"kernel {self.kernel}, phase {self.phase or 'none'}{', ' if self.pending else ''}{self.pending}"


def parse(text):
    """The answer to `COMMAND` as a `NodeStatus`; None if it is no whole answer.

    :raises KupError: the node's record is broken.
    """
    text = text.replace("\r\n", "\n")
    head = _HEAD.search(text)
    if not head or head.start() > _BEFORE_MAX:
        return None
    boot_id, kernel, uptime, restored, busy, told = head.groups()
    pending = "; ".join(line.partition("=")[2] or "pages are pending" for line in told.split("\n") if line)
    record = records.parse(text[head.end() :])
    return NodeStatus(boot_id, kernel, float(uptime), restored == "yes", busy != "0", record, pending)
