"""The subcommands: up, down, power cuts, and a shell into each node."""

import json
import os
import shlex
import shutil

from . import defaults, host, image, inventory, kernels, network, packages, vm
from . import node as nodes
from .command import LabError, run, say
from .state import Lab, state_of


def _wish(args):
    """Return the image that a lab with the options ARGS of `up` boots from, as image.ensure takes it."""
    update = defaults.UPDATES[args.release]
    # The installer puts the kernel for hardware on a server.
    flavour = f"-{kernels.GENERIC}" if args.stock else ""
    return {
        "release": args.release,
        "from": args.old or update.old + flavour,
        "to": args.new or update.new + flavour,
        "criu": args.criu or update.criu,
        "target": args.target,
        "initrd": "host" if args.stock else args.initrd,
        "module": args.module,
        "disk": args.disk,
        **({"packages": sorted(args.packages)} if args.packages else {}),
        **({"stock": True} if args.stock else {}),
    }


def _network(args):
    """Return (what manages the nodes' cards, whether by DHCP) of a lab with the options ARGS."""
    manager = "ifupdown" if args.stock else "networkd"
    return "networkmanager" if "network-manager" in (args.packages or ()) else manager, args.dhcp


def build(args):
    host.refuse_unless_fit(args, _wish(args))
    image.ensure(_wish(args))


def up(args):
    wish = _wish(args)
    host.refuse_unless_fit(args, wish)
    base, facts = image.ensure(wish)
    state = state_of(args.name)
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    record = {
        "name": args.name,
        "netns": network.namespace(args.name),
        "mem": args.mem,
        "cpus": args.cpus,
        "spare": args.spare,
        "memcached_mib": args.memcached or args.mem * 6 // 10,
        "cmdline": os.environ.get("KUP_LAB_CMDLINE", ""),
        "image": facts,
        "nodes": [nodes.describe(number + 1) for number in range(args.nodes)],
    }
    # From here on `down` can clean up.
    (state / "lab.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{args.name}", "-f", state / "id_ed25519")
    key = (state / "id_ed25519.pub").read_text(encoding="utf-8")
    lab = Lab(args.name)
    network.create(args.name, record["nodes"])
    if args.dhcp:
        network.give_addresses(args.name, record["nodes"], state)
    for machine in lab.machines.values():
        nodes.make_disk(
            base, machine.disk, machine.node, record["memcached_mib"], key, record["cmdline"], _network(args)
        )
        if args.data:
            machine.data.touch()
            os.truncate(machine.data, args.data << 30)
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
    # Other processes in the namespace are clients, or nodes whose record was lost.
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


def install(args):
    lab = Lab(args.name)
    for machine in lab.machines.values():
        for package in args.packages:
            packages.install(lab, machine, package)


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
