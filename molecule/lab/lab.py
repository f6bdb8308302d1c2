"""A fleet of real virtual machines on this machine: up, down, power cuts, and a shell into each node."""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

import image
import inventory
import mirror
import network
import node as nodes
import vm
from command import LabError, run, say

HERE = pathlib.Path(__file__).resolve().parent
STATE = HERE.parents[1] / "build" / "lab"
# QEMU's own needs besides the guest's memory, MiB.
OVERHEAD = 150


def state_of(name):
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,15}", name):
        raise LabError(f"The lab name '{name}' is unfit: expected up to 16 lower-case letters, digits and hyphens.")
    return STATE / name


class Lab:
    """A lab that exists, read from its lab.json."""

    def __init__(self, name):
        self.name, self.state = name, state_of(name)
        try:
            self.record = json.loads((self.state / "lab.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise LabError(f"There is no lab named '{name}': make one with lab.py up --name {name} …") from error
        self.machines = {node["name"]: vm.Machine(self.state, node) for node in self.record["nodes"]}

    def machine(self, node):
        if node not in self.machines:
            raise LabError(f"The lab {self.name} has no node '{node}': expected one of {', '.join(self.machines)}.")
        return self.machines[node]

    def start(self, machine):
        machine.start(network.namespace(self.name), self.record["mem"], self.record["cpus"])

    def ssh(self, machine, command, silence=15):
        """Return the argv of COMMAND on a node, given up after so many seconds without a sign of life."""
        # A node that switches kernels in the middle of a command never closes the connection.
        return ["ssh", *inventory.ssh_arguments(self.state, self.name), "-o", "ConnectTimeout=5",
                "-o", "ServerAliveInterval=5", "-o", f"ServerAliveCountMax={silence // 5}",
                f"root@{machine.node['address']}", *command]  # fmt: skip

    def wait(self, machine, seconds):
        """Wait until ssh answers; return how long that took."""
        begin = time.monotonic()
        port_open = ["ip", "netns", "exec", self.record["netns"], "nc", "-z", "-w", "1", machine.node["address"], "22"]

        def answers():
            # Cheap first: an ssh client that meets a booting node waits for seconds.
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
                raise LabError(f"The node {machine.node['name']} is not running: start it with lab.py start.")
            time.sleep(0.2)
        return time.monotonic() - begin


def missing_packages():
    """Return the packages of packages.txt that this machine does not have."""
    words = (HERE / "packages.txt").read_text(encoding="utf-8").splitlines()
    wanted = {word for word in words if word and not word.startswith("#")}
    argv = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return sorted(wanted - {line.split()[0] for line in said.splitlines() if line.endswith(" installed")})


def refuse_unless_fit(args):
    """Check what can be checked before anything is made."""
    missing = missing_packages()
    if missing:
        raise LabError(f"This machine lacks Debian packages that the lab needs: apt-get install {' '.join(missing)}")
    if (state_of(args.name) / "lab.json").exists() or network.exists(args.name):
        raise LabError(f"A lab named '{args.name}' exists already: end it with lab.py down --name {args.name}.")
    for option, value, low, high in (
        ("nodes", args.nodes, 1, 16),
        ("cpus", args.cpus, 1, 16),
        ("disk", args.disk, 4, 1024),
        ("mem", args.mem, 384, 1 << 20),
    ):
        if not low <= value <= high:
            raise LabError(f"--{option} is {value}: expected {low} to {high}.")
    if args.criu == "next":
        mirror.next_suite(args.release)
    available = (
        int(re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8"))[1]) >> 10
    )
    needed = args.nodes * (args.mem + OVERHEAD)
    if needed > available:
        raise LabError(
            f"{args.nodes} nodes of {args.mem} MiB need {needed} MiB of memory and {available} MiB are available: ask for less."
        )
    # A node's disk holds about 0.5 GiB at first and takes the checkpoints later; a build takes about 3 GiB at its height.
    STATE.mkdir(parents=True, exist_ok=True)
    for place, wanted in ((STATE, 2 * args.nodes), (image.cache(), 3)):
        free = shutil.disk_usage(place).free >> 30
        if free < wanted:
            raise LabError(
                f"{place} has {free} GiB free and a lab of {args.nodes} nodes needs {wanted} GiB there: make room."
            )


def up(args):
    refuse_unless_fit(args)
    wish = {key: getattr(args, key) for key in ("release", "from", "to", "criu", "target", "initrd", "module", "disk")}
    base, facts = image.ensure(wish)
    state = state_of(args.name)
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    record = {
        "name": args.name,
        "netns": network.namespace(args.name),
        "mem": args.mem,
        "cpus": args.cpus,
        "memcached_mib": args.memcached or args.mem * 6 // 10,
        "cmdline": os.environ.get("KUP_LAB_CMDLINE", ""),
        "image": facts,
        "nodes": [nodes.describe(number + 1) for number in range(args.nodes)],
    }
    # From here on `down` knows what to clean.
    (state / "lab.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{args.name}", "-f", state / "id_ed25519")
    key = (state / "id_ed25519.pub").read_text(encoding="utf-8")
    lab = Lab(args.name)
    network.create(args.name, record["nodes"])
    for machine in lab.machines.values():
        nodes.make_disk(base, machine.disk, machine.node, record["memcached_mib"], key, record["cmdline"])
        lab.start(machine)
    inventory.write(state / "inventory.yml", state, args.name, record["nodes"])
    for machine in lab.machines.values():
        say(f"{machine.node['name']} answers ssh after {lab.wait(machine, args.timeout):.1f} s")
    say(f"ready: ansible -i {state / 'inventory.yml'} memcache -m ping")


def down(args):
    state = state_of(args.name)
    if (state / "lab.json").exists():
        for machine in Lab(args.name).machines.values():
            machine.kill()
    # What still runs in the namespace is a client's, or a node whose record was lost.
    for pid in network.processes(args.name):
        if vm.is_foreign(pid, state):
            raise LabError(
                f"The lab '{args.name}' belongs to another working tree (its QEMU is pid {pid}): end it from there."
            )
        vm.kill(pid)
    network.remove(args.name)
    shutil.rmtree(state, ignore_errors=True)


def kill(args):
    if not Lab(args.name).machine(args.node).kill():
        raise LabError(f"The node {args.node} does not run.")


def start(args):
    lab = Lab(args.name)
    lab.start(lab.machine(args.node))


def reset(args):
    lab = Lab(args.name)
    lab.machine(args.node).kill()
    lab.start(lab.machine(args.node))


def wait(args):
    lab = Lab(args.name)
    say(f"{args.node} answers ssh after {lab.wait(lab.machine(args.node), args.timeout):.1f} s")


def execute(args):
    lab = Lab(args.name)
    # One word is a line for the node's shell; several are one command whose words stay what they are.
    command = args.command if len(args.command) < 2 else [shlex.join(args.command)]
    argv = lab.ssh(lab.machine(args.node), command)
    os.execvp(argv[0], argv)


def ns(args):
    if not args.command:
        raise LabError("No command was given: put it after --.")
    argv = ["ip", "netns", "exec", Lab(args.name).record["netns"], *args.command]
    os.execvp(argv[0], argv)


def show(args):
    lab = Lab(args.name)
    image_facts = lab.record["image"]
    print(
        f"lab {lab.name} in {lab.state}: {image_facts['kernel_from']} -> {image_facts['kernel_to']}, criu {image_facts['criu']}"
    )
    for machine in lab.machines.values():
        pid = machine.pid()
        print(
            f"{machine.node['name']}\t{machine.node['address']}\t{f'pid {pid}' if pid else 'stopped'}\t{machine.serial}"
        )


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one sentence."""

    def error(self, message):
        self.exit(2, f"lab: {message} (lab.py --help tells more)\n")


def parser():
    top = Parser(prog="lab.py", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True)

    def verb(name, function, help):
        sub = verbs.add_parser(name, help=help)
        sub.set_defaults(function=function)
        sub.add_argument("--name", default="lab", help="the lab's name (default: %(default)s)")
        return sub

    sub = verb("up", up, "build the image if need be, start the nodes and wait until they answer")
    sub.add_argument("--nodes", type=int, default=1, help="number of nodes (default: %(default)s)")
    sub.add_argument("--mem", type=int, default=1024, metavar="MIB", help="memory of a node (default: %(default)s)")
    sub.add_argument("--memcached", type=int, metavar="MIB", help="memcached's limit (default: 60 %% of --mem)")
    sub.add_argument("--cpus", type=int, default=1, help="CPUs of a node (default: %(default)s)")
    sub.add_argument(
        "--disk", type=int, default=8, metavar="GIB", help="size of a node's sparse disk (default: %(default)s)"
    )
    sub.add_argument(
        "--release", choices=sorted(mirror.CODENAMES), default="13", help="Debian release (default: %(default)s)"
    )
    sub.add_argument(
        "--from",
        default="6.12",
        metavar="SERIES",
        help="kernel that the boot loader starts; 6.12 newest, 6.12-1 newest but one",
    )
    sub.add_argument("--to", default="7.2", metavar="SERIES", help="kernel to update to (default: %(default)s)")
    sub.add_argument(
        "--criu", choices=("release", "next"), default="release", help="CRIU of the release or of the next one"
    )
    sub.add_argument(
        "--target",
        choices=("installed", "repo"),
        default="installed",
        help="is the target kernel installed, or only installable",
    )
    sub.add_argument(
        "--module", action="store_true", help="the kernel module of engine ppp is installed for both kernels"
    )
    sub.add_argument(
        "--initrd", choices=("none", "host"), default="none", help="do the kernels boot with a host-only initramfs"
    )
    sub.add_argument(
        "--timeout", type=int, default=300, metavar="S", help="for each node to answer (default: %(default)s)"
    )
    verb("down", down, "end a lab and remove all of it")
    verb("show", show, "list the nodes")
    for name, function, help in (
        ("kill", kill, "cut a node's power"),
        ("start", start, "start a node cold"),
        ("reset", reset, "power cut and cold start"),
    ):
        verb(name, function, help).add_argument("node")
    sub = verb("wait", wait, "wait until a node answers ssh")
    sub.add_argument("node")
    sub.add_argument("--timeout", type=int, default=300, metavar="S", help="(default: %(default)s)")
    sub = verb("exec", execute, "run a command on a node: lab.py exec NODE --name NAME -- COMMAND")
    sub.add_argument("node")
    verb("ns", ns, "run a command where the clients are: lab.py ns --name NAME -- COMMAND")
    return top


def main():
    # argparse would take options of COMMAND for its own.
    own, command = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, command = own[:cut], own[cut + 1 :]
    args = parser().parse_args(own)
    args.command = command
    try:
        if os.geteuid():
            raise LabError("The lab needs root (network namespaces, taps): run it as root.")
        args.function(args)
    except LabError as error:
        sys.exit(f"lab: {error}")
    except KeyboardInterrupt:
        sys.exit("lab: interrupted")


if __name__ == "__main__":
    main()
