# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Command line of files/node/cli: what runs on a node when no controller is there."""

from __future__ import annotations

import json
import sys

from .._criu import cleanup
from .._errors import KupError
from . import lock, reasons, rehearsal, switch, watch
from . import record as records

#: Exit code of a switch that was given up in good order; after any other files/node/switch/clean-up puts things right.
GIVEN_UP = 3


def main(arguments):
    """``switch``: to the new kernel; ``fallback``: back to the old one, from probation; ``return``: after the commit, too, both for the
    reason that was left (`reasons`); ``fallback REASON``: for one that everybody may read; ``watch``: judge a kernel on probation;
    ``undo UNIT DIRECTORY``: what a killed CRIU has left of a dump; ``rehearse SECONDS UNIT…``: dump each unit and let it go on.
    Returns an exit code."""
    try:
        if arguments == ["watch"]:
            watch.look()  # which may take as long as the operator's commands do
            return 0
        if arguments[:1] == ["undo"] and len(arguments) == 3:
            cleanup.undo(*arguments[1:])  # for files/node/switch/clean-up, which has the lock
            return 0
        with lock.exclusive():
            _run(arguments)
    except KupError as error:
        sys.stderr.write(f"kup: {error}\n")
        return GIVEN_UP
    return 0


def _run(arguments):
    if arguments == ["switch"]:
        record = records.load()
        if record["PHASE"] != "prepared":
            raise KupError(f"This node is in phase {record['PHASE'] or 'none'!r}, expected 'prepared'.")
        switch.depart(record, record["KERNEL_NEW"], "switching")
    elif arguments == ["fallback"]:
        switch.go_back(reasons.take(), records.UNDECIDED)
    elif arguments[:1] == ["fallback"] and len(arguments) == 2:  # the deadline
        switch.go_back(arguments[1], records.UNDECIDED)
    elif arguments == ["return"]:
        switch.go_back(reasons.take(), records.RETURNABLE)
    elif arguments[:1] == ["rehearse"] and len(arguments) > 2:
        sys.stdout.write(json.dumps(rehearsal.rehearse(arguments[2:], float(arguments[1]))) + "\n")
    else:
        raise KupError(
            f"{' '.join(arguments)!r} is not known, expected 'switch', 'fallback', 'fallback REASON', 'return', 'rehearse SECONDS UNIT…', 'watch' "
            "or 'undo UNIT DIRECTORY'."
        )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
