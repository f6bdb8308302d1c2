"""What can be seen of a node from outside: does it answer on a port, is it between two kernels."""

import subprocess
import time

from command import LabError

MEMCACHED, SSH = 11211, 22
# How long a node stays silent on a port before it counts as silent: longer than a busy node's pause.
SILENCE = 1


def answers(lab, node, port, seconds=SILENCE):
    """True if a TCP connection to PORT of NODE can be made within SECONDS."""
    argv = ["ip", "netns", "exec", lab.record["netns"], "nc", "-z", "-w", str(seconds)]
    return not subprocess.run([*argv, lab.machine(node).node["address"], str(port)], check=False).returncode


#: What a watcher can wait for → the port whose silence shows it.
MOMENTS = {
    # The application's packets are held: it is being frozen and written.
    "frozen": MEMCACHED,
    # The old kernel is gone, the new one is not there yet.
    "jumped": SSH,
}


def await_moment(lab, node, moment, seconds, still_worth_it=lambda: True):
    """Wait until NODE has reached MOMENT; LabError after SECONDS, or when waiting has become pointless."""
    deadline = time.monotonic() + seconds
    while answers(lab, node, MOMENTS[moment]):
        if time.monotonic() > deadline or not still_worth_it():
            raise LabError(f"The node {node} was never seen {moment}.")
        time.sleep(0.1)
