# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether a node needs an update, a reboot or a restart of services. Changes nothing."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import time

from .._blocker import sentences
from .._boot import kernels, kexec, livepatch
from .._drain import record as drain_record
from .._errors import printable
from .._paths import KERNELS, PANIC_LOG
from .._system import distribution, microcode, outdated, reboot_required
from . import checks, leftovers, service
from . import record as records

# Debian: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)". Others: "#45-Ubuntu SMP Fri Aug 30 12:02:04 UTC 2024".
_DEBIAN = re.compile(r"\((\d{4})-(\d\d)-(\d\d)\)")
_OTHERS = re.compile(r"([A-Z][a-z]{2}) +(\d+) (\d\d):(\d\d):(\d\d) UTC (\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_KEPT = ("phase", "reason", "data", "fresh_units", "kernel_old", "kernel_new", "started")


def gather(selector, any_distribution=False):
    """All of it; the module kup_status describes each key.

    :param selector: what ``kup_kernel`` says.
    :param any_distribution: what ``kup_any_distribution`` says.
    :raises KupError: the selector means no kernel, the record is broken, or a system tool fails.
    """
    kernels.check_selector(selector)
    record = records.load()
    distributed, found = of_distribution(any_distribution), outdated.find()
    return {
        "looked": time.time(),
        "distribution": distributed,
        # What a kernel of another distribution is called says nothing of what is wanted.
        "kernel": {**of_kernels(selector), **({"needs_update": None} if distributed["refusal"] else {})},
        "last_update": {key: value for key, value in record.as_dict().items() if key in _KEPT},
        "leftovers": _left(record),
        "preserved": sorted(os.listdir(KERNELS)) if os.path.isdir(KERNELS) else [],
        "drained": list(drain_record.load().places),
        "reboot": reboot_required.look(),
        "microcode": microcode.look(),
        "libraries": {"units": found.units, "complete": found.complete},
        "livepatches": livepatch.patches(),
    }


def of_distribution(any_distribution):
    """Its name, and why it would be refused; empty where it would not."""
    found = distribution.look()
    refusals = [] if any_distribution else sentences(checks.untried_distribution(found))
    return {"name": printable(found.name), "refusal": " ".join(refusals)}


def of_kernels(selector):
    """What runs, what there is, and whether that is another one; what is not known is empty, ``built`` and ``needs_update`` None."""
    running = kernels.running()
    installed = kernels.choose(selector) or ""
    available = kernels.in_package(kernels.package(selector))
    wanted = max((release for release in (installed, available) if release), key=kernels.order, default="")
    return {
        "running": running,
        "built": built(os.uname().version),
        "uptime_s": service.uptime(),
        "installed": installed,
        "available": available,
        "target": wanted,
        "needs_update": wanted != running if wanted else None,
    }


def built(version):
    """Unix time in the text of ``uname -v``; None where it has none."""
    date = _date(version)
    with contextlib.suppress(ValueError):
        return datetime.datetime(*date, tzinfo=datetime.timezone.utc).timestamp() if date else None  # noqa: UP017  Python 3.9
    return None


def _date(version):
    """Year, month, day, and hour, minute, second if it has them."""
    debian, other = _DEBIAN.search(version), _OTHERS.search(version)
    if debian:
        return [int(part) for part in debian.groups()]
    # Names of months are those of no locale.
    if other and other[1] in _MONTHS:
        return [int(other[6]), _MONTHS.index(other[1]) + 1, *(int(part) for part in other.groups()[1:5])]
    return None


def _left(record):
    """What an update or a panic has left and that nothing needs: list of paths, and ``a loaded kernel``."""
    crashed = [PANIC_LOG] if os.path.exists(PANIC_LOG) else []
    if record.unfinished or record["PHASE"] == "failed":
        return crashed
    # As after every kexec -l: the next reboot would be a kexec.
    return crashed + (["a loaded kernel"] if kexec.loaded() else []) + leftovers.remains(record)
