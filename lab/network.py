"""The lab's own network namespace: a bridge, one tap per node, and the clients' side at 10.77.0.1."""

import pathlib

from .command import run

BRIDGE = "br0"
CLIENT = "10.77.0.1/24"
NETWORK = "10.77.0.0"
LEASE = "120s"


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


def give_addresses(name, nodes, state):
    """Let a DHCP server give each of NODES its address, as clouds and most offices do; its files are in the directory STATE.

    A lease is short, so that it is renewed while a test runs. The server ends with the namespace's other processes.
    """
    run(
        "ip", "netns", "exec", namespace(name), "dnsmasq", "--conf-file=/dev/null", "--port=0", "--user=root", f"--interface={BRIDGE}",
        "--bind-interfaces", "--dhcp-authoritative", f"--dhcp-range={NETWORK},static,255.255.255.0,{LEASE}",
        *(f"--dhcp-host={node['mac']},{node['address']},{node['name']}" for node in nodes),
        f"--dhcp-option=option:router,{CLIENT.partition('/')[0]}",
        f"--pid-file={state / 'dhcp.pid'}", f"--dhcp-leasefile={state / 'dhcp.leases'}", f"--log-facility={state / 'dhcp.log'}", "--log-dhcp",
    )  # fmt: skip


def processes(name):
    """Return the pids of everything that runs in the namespace."""
    return [int(pid) for pid in run("ip", "netns", "pids", namespace(name)).split()] if exists(name) else []


def remove(name):
    """Remove the namespace with everything in it; nothing to do if there is none."""
    if exists(name):
        run("ip", "netns", "del", namespace(name))
