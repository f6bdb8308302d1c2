"""Inject faults into updates of a virtual machine, and judge the outcome of each.

    python3 -m tests.faults.run [--minutes N] [--seed N] [--only TEXT] [--count N]   a slice: faults without a result, at random
    python3 -m tests.faults.run --sample [--seed N] [--only TEXT] [--count N]        a sample of faults with a right result
    python3 -m tests.faults.run --table                                              write docs/faults.md from the results

A slice appends each result to results.jsonl at once, so it can be stopped at any time; a sample records nothing.
A fault is defined in cases.py, acts in guest/fault.sh, and is judged in judge.py.
"""

import argparse
import random
import subprocess
import time

from lab import results
from lab.command import LabError, say
from lab.fleet import keep_consoles, lab_verb
from lab.paths import REPO
from tests import suite
from tests.faults import cases, table
from tests.faults.choose import RESULTS, chosen, known
from tests.faults.inject import inject, update
from tests.faults.machine import open_node


class Slice:
    """Faults injected one after the other into updates of one node, which is replaced where a fault has spoiled it."""

    def __init__(self, lab_name, seed, is_recorded):
        self._name, self._seed, self._is_recorded = lab_name, seed, is_recorded
        self._out = REPO / "build" / lab_name
        self._out.mkdir(parents=True, exist_ok=True)
        self._node = None
        self._last = None  # (case, result)
        #: Outcomes that no fault may have: sentences.
        self.bad = []

    def inject(self, case):
        if not self._node or case.victim != self._last[0].victim:
            self.finish()
            self._node = open_node(self._name, self._out, case.victim)
        seconds = random.uniform(0, cases.SPREAD.get(case.point, 0))
        say(f"{case.name}, {seconds:.2f} s")
        try:
            result = inject(self._node, case, seconds)
        except (LabError, subprocess.TimeoutExpired) as error:
            result = {"fired": True, "phase": "lost", "data": None, "wrong": [str(error)]}
        outcome = f"{case.name}: {result['phase']}, {result.get('data')}, {'; '.join(result['wrong']) or 'right'}"
        say(outcome)
        self._record(case, result)
        self._last = case, result
        if result["wrong"]:
            self.bad.append(f"{outcome} (seed {self._seed})")
            keep_consoles(self._name, self._out)
            self._node.keep_evidence(self._out / case.name.replace(" ", "_").replace("/", "_"))
        if result["wrong"] or case.fault in cases.SPOILING:
            self._node = None

    def finish(self):
        """Prove by an update without a fault that the node still takes updates: each fault but the last had one after it."""
        if not self._node:
            return
        case, result = self._last
        try:
            say(f"an update without a fault: nobody could connect for {update(self._node, case.engine)} s")
        except (LabError, subprocess.TimeoutExpired) as error:
            self.bad.append(f"after {case.name}: {error}")
            say(self.bad[-1])
            self._record(case, {**result, "wrong": [f"no further update: {error}"]})

    def _record(self, case, result):
        if self._is_recorded:
            results.append(RESULTS, {**case.as_dict(), **result, "seed": self._seed})


def run_slice(args):
    """Return the outcomes that no fault may have: sentences."""
    seed = args.seed if args.seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    left, until = chosen(args.only, args.count, args.sample), time.monotonic() + 60 * args.minutes
    if args.sample and not left:
        raise LabError(f"There is nothing to draw from: expected faults in {RESULTS} whose result was right.")
    say(f"seed {seed}; {len(left)} faults to inject")
    part = Slice(args.lab, seed, is_recorded=not args.sample)
    try:
        for case in left:
            if time.monotonic() > until:
                break
            # Another slice may have injected it meanwhile.
            if args.sample or case.name not in known():
                part.inject(case)
        part.finish()
    finally:
        lab_verb("down", "--name", args.lab)
    return part.bad


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m tests.faults.run", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=28, help="no fault begins later (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the order and of the moments (default: another one each time)")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults with this text in their names")
    parser.add_argument("--sample", action="store_true", help="faults whose result was right; record nothing")
    parser.add_argument("--count", type=int, help="number of faults at most")
    parser.add_argument(
        "--lab", default="faults", metavar="NAME", help="slices in labs of other names run beside it (default: faults)"
    )
    parser.add_argument("--table", action="store_true", help="write docs/faults.md and inject nothing")
    return parser.parse_args()


def work(args):
    """Do what ARGS ask for; return outcomes that no fault may have."""
    if args.table:
        table.write(results.read(RESULTS))
        return []
    return run_slice(args)


if __name__ == "__main__":
    options = arguments()
    suite.end("faults", lambda: work(options))
