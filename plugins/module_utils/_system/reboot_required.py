# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What packages say with /run/reboot-required and /run/reboot-required.pkgs, as Debian's and Ubuntu's do."""

from __future__ import annotations

import itertools
import os
import re

from .._errors import printable
from .._files import each_line

FLAG = "/run/reboot-required"
PACKAGES = FLAG + ".pkgs"
_MOST, _LONGEST = 100, 200  # packages, characters of a name
_MICROCODE = re.compile(r"(intel|amd64)-microcode|microcode_ctl")


def look():
    """Dict with ``required``; ``packages``, the names that ask for a reboot, each once; and ``microcode``, whether the processor's
    microcode is among them."""
    packages = sorted({name for name in map(_name, itertools.islice(each_line(PACKAGES), _MOST)) if name})
    return {
        "required": os.path.lexists(FLAG),
        "packages": packages,
        "microcode": any(_MICROCODE.fullmatch(name) for name in packages),
    }


def _name(line):
    return printable(line.strip())[:_LONGEST]
