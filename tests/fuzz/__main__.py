"""Fuzz the parsers of the nodes' C programs, each for an hour of processor time, in what the machine has left over.

    python3 -m tests.fuzz [--minutes N] [--jobs N] [--hours N] [--only TEXT]
    python3 -m tests.fuzz --table      write docs/fuzz.md from tests/fuzz/results.jsonl

A slice goes on with the target that has had the least time, a turn after the other, and records each turn at once, so it can be stopped
at any time. What libFuzzer has learnt is kept in build/PROGRAM/corpus, what made a parser fail in build/PROGRAM/crashes.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import threading
import time

from lab.command import LabError, say
from lab.paths import REPO
from tests import suite
from tests.fuzz import record
from tests.fuzz.targets import targets


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=28, help="no turn begins later (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="turns at the same time (default: %(default)s)")
    parser.add_argument(
        "--turn", type=int, default=300, metavar="SECONDS", help="length of a turn (default: %(default)s)"
    )
    parser.add_argument(
        "--hours", type=float, default=1, help="processor time that each target is to have (default: %(default)s)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="targets with this text in their name")
    parser.add_argument("--table", action="store_true", help="write docs/fuzz.md and fuzz nothing")
    return parser.parse_args()


class Turns:
    """Turns of SECONDS of CHOSEN targets, until each has had WANTED seconds of processor time; none begins after UNTIL."""

    def __init__(self, chosen, seconds, wanted, until):
        self._seconds, self._wanted, self._until = seconds, wanted, until
        self._lock = threading.Lock()
        self._spent = record.spent()
        self._waiting = {target for target in chosen if self._spent[target] < wanted}

    def work(self):
        """Take turns until there is none left; return sentences: what failed."""
        bad = []
        while time.monotonic() < self._until and (target := self._take()):
            row, failure = turn(target, self._seconds)
            if not row:
                return bad
            record.append(row)
            with self._lock:
                self._spent[target] += row["cpu_s"]
                if not failure and self._spent[target] < self._wanted:
                    self._waiting.add(target)
            say(f"{target}: {self._spent[target]:.0f} s, {row['units']} inputs, {row['edges']} edges")
            if failure:
                bad.append(failure)
        return bad

    def _take(self):
        """Return the waiting target that has had the least time, which waits no longer; None if none waits."""
        with self._lock:
            target = min(self._waiting, key=lambda one: self._spent[one], default=None)
            self._waiting.discard(target)
        return target


def turn(target, seconds):
    """Fuzz TARGET for SECONDS by the clock; return its row and what failed, a sentence or "". There is no row if somebody has stopped it."""
    command = ["chrt", "--idle", "0", "make", "-s", "-C", f"files/{target.program}", "fuzz"]
    command += [f"FUZZ_TARGETS={target.name}", f"SECONDS={seconds}"]
    with subprocess.Popen(command, cwd=REPO, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        said = process.stdout.read()
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    log = target.log.read_text(errors="replace")
    # libFuzzer and the sanitizers say so themselves where a parser has failed.
    if process.returncode and "SUMMARY: " not in log:
        return None, ""
    row = {
        "program": target.program, "target": target.name, "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "units": _last(r"number_of_executed_units: (\d+)", log), "edges": _last(r" cov: (\d+)", log),
        "failures": int(process.returncode != 0),
    }  # fmt: skip
    return row, f"{target}: {said.strip()[-600:]}" if process.returncode else ""


def _last(pattern, log):
    found = re.findall(pattern, log)
    return int(found[-1]) if found else 0


def work(args):
    """Do what ARGS ask for; return sentences: what failed."""
    if args.table:
        record.write_page()
        return []
    chosen = [target for target in targets() if args.only in str(target)]
    if not chosen:
        raise LabError(f"No target has '{args.only}' in its name, expected one of: {', '.join(map(str, targets()))}.")
    # Built beforehand: a compiler's time is not a fuzzer's.
    for target in chosen:
        subprocess.run(["make", "-s", "-C", f"files/{target.program}", str(target.binary)], cwd=REPO, check=True)
    turns = Turns(chosen, args.turn, args.hours * 3600, time.monotonic() + 60 * args.minutes)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(turns.work) for _number in range(args.jobs)]
        return [sentence for job in jobs for sentence in job.result()]


if __name__ == "__main__":
    options = arguments()
    suite.end("fuzz", lambda: work(options))
