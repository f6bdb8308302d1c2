# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Facts about a node, for a person or a playbook."""

from __future__ import annotations

import os
import re
import shutil

from .._boot import grub, kernels, kexec
from .._criu import command
from .._drain import record as drain_record
from .._files import read_lines, read_text
from .._paths import KERNELS, RUN
from .._run import run
from .._system import memory as node_memory
from .._system.units import full_name
from . import preflight, record, service, timeline


def gather(unit_names):
    """All facts; the module kup_info describes each.

    :raises KupError: a name is not that of a service, or a system tool fails.
    """
    names = [full_name(name) for name in unit_names]
    return {
        "kernel_running": kernels.running(),
        "kernels_installed": kernels.installed(),
        "kernels_preserved": sorted(os.listdir(KERNELS)) if os.path.isdir(KERNELS) else [],
        "kexec_loaded": kexec.loaded(),
        "boot_id": timeline.boot_id(),
        "uptime_s": service.uptime(),
        "boot_default": grub.default() if shutil.which("grub-editenv") else "",
        "criu": command.version() if shutil.which("criu") else None,
        "blockers": [blocker.as_dict() for blocker in kexec.blockers() + grub.blockers()],
        "lockdown": lockdown(read_text("/sys/kernel/security/lockdown", "")),
        "memory_bytes": memory(read_text("/proc/meminfo", "")),
        "record": record.load().as_dict(),
        "drained": list(drain_record.load().places),
        "environment_lacks": read_lines(f"{RUN}/environment.log"),
        "services_running": [name for name in _services() if name not in names],
        "units": [preflight.judge_unit(name) for name in names],
    }


def lockdown(text):
    """The mode in force, from ``[none] integrity confidentiality``; ``none`` on a kernel without lockdown."""
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen.group(1) if chosen else "none"


def memory(text):
    """``total`` and ``available`` bytes from /proc/meminfo."""
    found = node_memory.sizes(text)
    return {"total": found.get("MemTotal", 0), "available": found.get("MemAvailable", 0)}


def _services():
    done = run(["systemctl", "list-units", "--type=service", "--state=running", "--plain", "--no-legend", "--full"])
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
