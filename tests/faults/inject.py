"""Run one update with a fault, or without one."""

import contextlib
import json
import subprocess
import sys
import time

from lab.command import LabError
from lab.paths import REPO
from tests.faults import cases
from tests.faults.arm import arm, disarm
from tests.faults.judge import judge
from tests.faults.machine import THERE

# A node whose update has not ended after so many seconds is lost: no deadline of an update is longer.
PATIENCE = 1200
# Seconds between two looks at the console for the moment to cut the power, and between two questions to a node that boots.
GLANCE, PAUSE = 0.1, 1


class Lost(LabError):
    """The update does not come to its end."""


def inject(node, case, seconds):
    """Run one update with the fault of CASE, so many seconds after its point; return the result."""
    before = node.prepare(case.engine, 3 if case.fault == "check" else 60)
    node.run("python3 /usr/local/bin/patterns mark")
    if node.victim:
        node.victim.before()
    since = node.machine.serial.stat().st_size
    arm(node, case, seconds)
    outage = []
    with _probing(node, outage):
        node.tool("switch")
        state, fired = _settle(node, case, since, seconds)
    disarm(node)
    data, wrong = judge(node, case, before, state)
    return {
        "seconds": round(seconds, 2), "fired": fired, "phase": state["phase"], "reason": state["reason"],
        "data": data, "wrong": wrong, "outage_s": outage[0],
    }  # fmt: skip


def update(node, engine):
    """Run one update without a fault; return its outage in seconds.

    :raises Lost: it was not committed.
    """
    outage = []
    node.prepare(engine)
    with _probing(node, outage):
        node.tool("switch")
        state, _fired = _settle(node, cases.Case(engine, "none", "none"), 0, 0)
    if state["phase"] != "committed":
        raise Lost(f"an update without a fault ended in phase {state['phase']}: {state['reason']}")
    return outage[0]


@contextlib.contextmanager
def _probing(node, seen):
    """Connect to the application all the time; afterwards the list SEEN has the longest time without a connection, in seconds."""
    argv = ["ip", "netns", "exec", node.lab.record["netns"], sys.executable, "-m", "tests.faults.prober"]
    with subprocess.Popen(
        [*argv, node.machine.node["address"], "7070"],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as prober:
        try:
            yield
        finally:
            seen.append(float(prober.communicate()[0]))


def _settle(node, case, since, seconds):
    """Wait for the end of the update and commit one on probation; return (the last state, whether the fault has struck)."""
    until, state, cut = time.monotonic() + PATIENCE, None, False
    while time.monotonic() < until:
        said, cut = _await_state(node, case, since, seconds, until, cut)
        if said is None:
            time.sleep(PAUSE)
            continue
        state, fired = said, _has_fired(node)
        if fired is None:
            continue  # the fault has struck meanwhile
        if fired and case.fault == "cut" and not cut:
            time.sleep(PAUSE)  # the request on the console comes next
            continue
        if fired and case.fault in ("full", "readonly") and not _mend(node):
            continue
        if state["phase"] != "probation" or not state["unfinished"]:
            return state, fired or cut
        # A node whose own checks fail, or that hangs, must go back by itself.
        if case.fault not in ("check", "hang") and (fired or case.point != "probation"):
            node.tool("commit", check=False)
        else:
            time.sleep(PAUSE)
    raise Lost(f"after {PATIENCE} s: {state}")


def _await_state(node, case, since, seconds, until, cut):
    """Wait until the node says where its update stands; return (the state, None if the node went away; whether power was cut)."""
    with node.waiting() as waiting:
        while waiting.poll() is None and time.monotonic() < until:
            cut = cut or (case.fault == "cut" and _cut_power(node, case, since, seconds))
            time.sleep(GLANCE)
        waiting.kill()
        said = waiting.stdout.read()
    return (None if waiting.returncode else json.loads(said)), cut


def _has_fired(node):
    """Return whether the fault has struck, None where the node does not answer."""
    asked = node.run(f"[ -e {THERE}/fired ] && echo yes || echo no", check=False)
    return None if asked.returncode else asked.stdout.strip() == "yes"


def _cut_power(node, case, since, seconds):
    """Cut the power if its moment has come; return whether it had."""
    asked = node.console_has(b"kup-fault: cut", since)
    leaving = case.point == "boot" and node.console_has(b"Starting new kernel", since)
    if leaving:
        time.sleep(seconds)
    if asked or leaving:
        node.power_cut()
    return asked or leaving


def _mend(node):
    """Make room and the disk writable, as an operator would; return False if only a restart of the node helps.

    Each time, because the fault may be about to strike. Where files in use were deleted, the kernel refuses to remount.
    """
    mended = node.run(f"rm -f {THERE}/ballast; mount -o remount,rw / || echo refused", check=False)
    if "refused" in mended.stdout:
        node.power_cut()
        return False
    return True
