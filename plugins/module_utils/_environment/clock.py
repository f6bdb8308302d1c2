# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The time of day, and what a time daemon has told the kernel of it: a boot begins with the machine's clock, which may be minutes off.

The environment program reads the clocks and sets them (files/environment/clock.h).
"""

from __future__ import annotations

from .._run import run
from . import plan
from .open_files import PROGRAM


def put_plan(plans):
    """Write the plan, the first of all: what is made after it has times of its own.

    :raises KupError: the kernel's clock cannot be read.
    """
    words = run([PROGRAM, "clock"]).stdout.split()
    plans.put("0-clock", [plan.step("clock", plan.NODE, ("realtime", *words))])
