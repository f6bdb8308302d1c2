"""Moments of a switch that are seen from outside the node."""

import subprocess
import time

from .command import LabError

MEMCACHED = 11211
# Seconds: longer than the answer of a busy node takes, shorter than a switch.
SILENCE = 3
# The old kernel's last words on the serial console (kernel/kexec_core.c).
LAST_WORDS = "kexec_core: Starting new kernel"


def frozen(lab, node):
    """Return a function: is the application frozen, with its packets dropped?"""
    address = lab.machine(node).node["address"]
    argv = ["ip", "netns", "exec", lab.record["netns"], "nc", "-z", "-w", str(SILENCE), address, str(MEMCACHED)]
    return lambda: subprocess.run(argv, check=False).returncode != 0


def jumped(lab, node):
    """Return a function: has the running kernel jumped?"""
    serial = lab.machine(node).serial

    def jumps():
        return serial.read_text(encoding="utf-8", errors="replace").count(LAST_WORDS)

    before = jumps()
    return lambda: jumps() > before


MOMENTS = {"frozen": frozen, "jumped": jumped}


def await_moment(lab, node, moment, seconds, still_worth_it):
    """Wait until NODE has reached MOMENT; LabError after SECONDS, or when waiting has become pointless."""
    reached = MOMENTS[moment](lab, node)
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline or not still_worth_it():
            raise LabError(f"The node {node} was never seen {moment}.")
        time.sleep(0.1)
