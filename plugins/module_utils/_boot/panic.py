# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A kernel that an update has started must not stand still: until the update is over, an Oops or a lock-up is a panic, and a
panic starts the machine anew; and so does a hardware watchdog that systemd does not reach any more.

The boot loader then takes its default, which is the old kernel until commit, and that finds the record. What each name means:
Documentation/admin-guide/sysctl/kernel.rst and kernel-parameters.txt. Not hung_task_panic: a disk that is slow for two minutes,
be it because of our own sync, is no reason to lose what was written on probation; the deadline finds an application that hangs.
"""

from __future__ import annotations

import contextlib
import os
import re

from .._files import read_text
from .._run import run

_SETTINGS = "/proc/sys/kernel"
_COMMAND_LINE = "/proc/cmdline"
_MANAGER = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_ARMED = {"panic": "1", "panic_on_oops": "1", "softlockup_panic": "1", "hardlockup_panic": "1"}
# Those that count from the kernel's first moment on have words of their own.
_EARLY = {"panic": "panic=1", "panic_on_oops": "oops=panic"}


# Fed by systemd from its first seconds on (systemd(1)). Long enough for the crash kernel and the boot after it: nobody stops the
# watchdog on that way. Nobody else writes the same time like this.
_WATCHDOG = "/sys/class/watchdog/watchdog0"
_DRIVERS = "/sys/module/watchdog/holders"
_BUS = "/run/dbus/system_bus_socket"
WATCHDOG_WORD = "systemd.watchdog_sec=300000ms"


def _word(name):
    return _EARLY.get(name, f"sysctl.kernel.{name}={_ARMED[name]}")


#: What `words` may have put on a command line.
ALL_WORDS = frozenset([WATCHDOG_WORD, *(_word(name) for name in _ARMED)])


def words():
    """Words for the next kernel's command line: a list. A setting that this kernel lacks is not asked of the next, nor a watchdog
    that somebody feeds already."""
    found = [_word(name) for name in _ARMED if name in _EARLY or os.path.exists(f"{_SETTINGS}/{name}")]
    return [*found, WATCHDOG_WORD] if _is_free() else found


def _is_free():
    """Whether there is a watchdog that nobody feeds, and that can be stopped, which systemd is told by D-Bus (before 255 it takes 0
    for no answer)."""
    return (
        os.path.exists(_BUS)
        and read_text(f"{_WATCHDOG}/nowayout", "") == "0"
        and read_text(f"{_WATCHDOG}/state", "") == "inactive"
        and int(re.match(r"\d+", run(["systemctl", "--version"]).stdout.split()[1]).group()) >= 255
    )


def watchdog_drivers():
    """Names of the modules without which the next kernel has no watchdog to feed: a sorted list. Not every driver says which device
    its watchdog is on, but each needs the core."""
    return sorted(os.listdir(_DRIVERS)) if os.path.isdir(_DRIVERS) else []


def settings():
    """What the node has now, as the record keeps it: ``name=value`` for each, with spaces between."""
    found = {name: read_text(f"{_SETTINGS}/{name}", "") for name in _ARMED}
    return " ".join(f"{name}={value}" for name, value in found.items() if value)


def put_back(kept):
    """Give the node the settings that `settings` has found, as far as this kernel knows them.

    files/node/lib/panic.sh does the same on the old kernel.
    """
    for setting in kept.split():
        name, value = setting.split("=")
        # Lacking here, or with other values: no reason to go back.
        with contextlib.suppress(OSError), open(f"{_SETTINGS}/{name}", "r+", encoding="ascii") as stream:
            stream.write(value)
    if WATCHDOG_WORD in read_text(_COMMAND_LINE, "").split():
        run(["busctl", "set-property", *_MANAGER, "RuntimeWatchdogUSec", "t", "0"], check=False)
