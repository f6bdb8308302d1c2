# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Transparent huge pages while memory is copied in rounds.

The kernel tracks what is written per page-table entry: with a huge page, one byte costs 2 MiB in the next round. So for
the time of the rounds the applications' huge pages are split, and no new ones are made on the node. The next kernel
begins with its own setting; where the switch is given up, `resume` puts this one's back.
"""

from __future__ import annotations

import os
import re

from .._files import each_line, make_directory, read_text, write_file
from .._paths import RUN
from .._run import run
from . import smaps

_ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
#: What the setting was; files/node/switch/clean-up reads it as well.
_SAVED = RUN + "/hugepages"

# In a mount namespace of its own: debugfs need not be mounted on the node, and is not left mounted.
_SPLIT = """
mountpoint --quiet /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
while read -r range; do echo "$range" >/sys/kernel/debug/split_huge_pages; done
"""


def suspend(processes):
    """Split the huge pages of ``processes`` and make no new ones; returns the KiB that were in huge pages."""
    ranges, found = [], 0
    for process in processes:
        for start, end, kib in smaps.areas(each_line(f"{process.path}/smaps"), "AnonHugePages"):
            ranges.append(f"{process.pid},{start:#x},{end:#x}")
            found += kib
    setting = re.search(r"\[(\w+)\]", read_text(_ENABLED, ""))
    if not ranges or not setting:
        return 0
    if not os.path.exists(_SAVED):  # another unit's rounds have begun before
        make_directory(RUN)
        write_file(_SAVED, setting.group(1) + "\n")
        _set("never")
    # Without it (a locked down kernel) the rounds are longer, no more.
    run(["unshare", "--mount", "sh", "-c", _SPLIT], stdin="".join(f"{line}\n" for line in ranges), check=False)
    return found


def resume():
    """Put the node's setting back."""
    setting = read_text(_SAVED)
    if setting:
        _set(setting.strip())
        os.unlink(_SAVED)


def _set(word):
    with open(_ENABLED, "w", encoding="ascii") as stream:
        stream.write(word)
