"""A lab that exists: its folder, its nodes, and the way into each."""

import json
import re
import subprocess
import time

from . import inventory, network, vm
from .command import LabError
from .paths import STATE


def state_of(name):
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,15}", name):
        raise LabError(f"The lab name '{name}' is not valid: expected up to 16 lower-case letters, digits and hyphens.")
    return STATE / name


class Lab:
    """A lab that exists, read from its lab.json."""

    def __init__(self, name):
        self.name, self.state = name, state_of(name)
        try:
            self.record = json.loads((self.state / "lab.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise LabError(
                f"There is no lab named '{name}': make one with python3 -m lab up --name {name} …"
            ) from error
        self.machines = {node["name"]: vm.Machine(self.state, node) for node in self.record["nodes"]}

    def machine(self, node):
        if node not in self.machines:
            raise LabError(f"The lab {self.name} has no node '{node}': expected one of {', '.join(self.machines)}.")
        return self.machines[node]

    def start(self, machine):
        machine.start(network.namespace(self.name), self.record["mem"], self.record["cpus"], self.record["spare"])

    def ssh(self, machine, command, silence=15):
        """Return the argv of COMMAND on a node, ended after so many SILENCE seconds without a reply."""
        # A node that switches kernels during a command never closes the connection. One that is busy with the memory of many
        # applications takes its time to let somebody in.
        return ["ssh", *inventory.ssh_arguments(self.state, self.name), "-o", f"ConnectTimeout={silence // 3}",
                "-o", "ServerAliveInterval=5", "-o", f"ServerAliveCountMax={silence // 5}",
                f"root@{machine.node['address']}", *command]  # fmt: skip

    def wait(self, machine, seconds):
        """Wait until ssh answers; return how long that took."""
        begin = time.monotonic()
        port_open = ["ip", "netns", "exec", self.record["netns"], "nc", "-z", "-w", "1", machine.node["address"], "22"]

        def answers():
            # The port first: ssh to a booting node waits for seconds.
            return not any(
                subprocess.run(argv, capture_output=True, check=False).returncode
                for argv in (port_open, self.ssh(machine, ["true"]))
            )

        while not answers():
            if time.monotonic() - begin > seconds:
                raise LabError(
                    f"The node {machine.node['name']} did not answer ssh within {seconds} s; its serial log is {machine.serial}."
                )
            if machine.pid() is None:
                raise LabError(
                    f"The node {machine.node['name']} is not running: start it with python3 -m lab start {machine.node['name']}."
                )
            time.sleep(0.2)
        return time.monotonic() - begin
