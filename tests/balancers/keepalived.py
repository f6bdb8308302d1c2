"""Two machines with keepalived, each a network namespace, and an address that the first one has while its file says 0."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests import balancers

ADDRESS = "192.0.2.100"
_CONFIGURATION = """
global_defs {{
    router_id {name}
}}
{tracked}
vrrp_instance cache {{
    interface eth{name}
    state BACKUP
    virtual_router_id 51
    priority {priority}
    advert_int 1
    {tracks}
    virtual_ipaddress {{ {address}/24 }}
}}
"""


@dataclass(frozen=True)
class Started:
    """``file``: what the first machine tracks."""

    file: Path
    machines: list

    def inside(self, number):
        """Words before a command that let it run on a machine, 0 or 1."""
        return ["nsenter", "--net", "--target", str(self.machines[number].pid)]

    def holders(self):
        """Numbers of the machines that have the address."""
        shown = [
            subprocess.run([*self.inside(number), "ip", "address"], check=True, capture_output=True, text=True).stdout
            for number in (0, 1)
        ]
        return [number for number in (0, 1) if f"{ADDRESS}/" in shown[number]]


@contextlib.contextmanager
def started(folder):
    """Both machines, when the first one has the address."""
    with contextlib.ExitStack() as ends:
        machines = [ends.enter_context(_machine()) for _each in (0, 1)]
        found = Started(folder / "drained", machines)
        found.file.write_text("0\n")
        _cable(found)
        for number in (0, 1):
            ends.enter_context(_keepalived(found, folder, number))
        balancers.wait_for(lambda: found.holders() == [0])
        yield found


@contextlib.contextmanager
def _machine():
    words = ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; read -r _"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.stdin.close()


def _cable(found):
    first, second = found.machines
    words = ["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1", "netns", str(second.pid)]
    subprocess.run([*found.inside(0), *words], check=True)
    for number in (0, 1):
        subprocess.run(
            [*found.inside(number), "ip", "address", "add", f"192.0.2.{number + 1}/24", "dev", f"eth{number}"],
            check=True,
        )
        subprocess.run([*found.inside(number), "ip", "link", "set", f"eth{number}", "up"], check=True)


def _keepalived(found, folder, number):
    path = folder / f"keepalived{number}"
    first = number == 0
    text = _CONFIGURATION.format(
        name=number,
        tracked=f"track_file kup {{\n    file {found.file}\n}}" if first else "",
        priority=150 if first else 100,
        tracks="track_file {\n        kup weight -100\n    }" if first else "",
        address=ADDRESS,
    )
    path.with_suffix(".conf").write_text(text)
    files = [f"--pid={path}.pid", f"--vrrp_pid={path}.vrrp.pid", f"--use-file={path}.conf"]
    words = [*found.inside(number), "keepalived", "--dont-fork", "--log-console", "--vrrp", *files]
    return balancers.running(words, path.with_suffix(".vrrp.pid").exists)
