"""The lab's own network namespace: a bridge, one tap per node, and the clients' side at 10.77.0.1."""

import pathlib

from .command import run

BRIDGE = "br0"
CLIENT = "10.77.0.1/24"


def namespace(name):
    return f"kup-{name}"


def exists(name):
    return pathlib.Path("/run/netns", namespace(name)).exists()


def create(name, nodes):
    """Make the namespace of lab NAME with a tap for each of NODES."""
    ns = namespace(name)
    run("ip", "netns", "add", ns)
    run("ip", "-n", ns, "link", "set", "lo", "up")
    run("ip", "-n", ns, "link", "add", BRIDGE, "type", "bridge")
    run("ip", "-n", ns, "addr", "add", CLIENT, "dev", BRIDGE)
    run("ip", "-n", ns, "link", "set", BRIDGE, "up")
    for node in nodes:
        run("ip", "-n", ns, "tuntap", "add", node["tap"], "mode", "tap")
        run("ip", "-n", ns, "link", "set", node["tap"], "master", BRIDGE, "up")


def processes(name):
    """Return the pids of everything that runs in the namespace."""
    return [int(pid) for pid in run("ip", "netns", "pids", namespace(name)).split()] if exists(name) else []


def remove(name):
    """Remove the namespace with everything in it; nothing to do if there is none."""
    if exists(name):
        run("ip", "netns", "del", namespace(name))
