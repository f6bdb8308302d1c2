"""A node's own disk: a sparse copy of the base image with the node's name, address and key written into it."""

import pathlib
import re
import tempfile
import uuid

from . import disk as layout
from .command import LabError, run

PREFIX = 24


def describe(number):
    """Return the unchanging facts of node NUMBER (1..16)."""
    return {
        "name": f"node{number}",
        "address": f"10.77.0.{10 + number}",
        "mac": f"52:54:00:4b:55:{number:02x}",
        "tap": f"tap{number}",
    }


# A cold start's menu as update-grub has made it, and what the next one makes it of.
_GRUB, _GRUB_WORDS = "/boot/grub/grub.cfg", "/etc/default/grub.d/node.cfg"


def _boot_files(grub_cfg, words):
    """Return the files that add WORDS to the command line of every kernel."""
    return {
        _GRUB: re.sub(r"^(\s*linux\s.*)$", lambda line: f"{line[1].rstrip()} {words}", grub_cfg, flags=re.M),
        _GRUB_WORDS: f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"\n',
    }


def _network(node, network):
    """Return {path in the node: text} of what sets its address, by the NETWORK (see `make_disk`)."""
    manager, is_dhcp = network
    if manager == "networkmanager":
        # It looks after each card by DHCP that is in no other file.
        return {"/etc/network/interfaces": "auto lo\niface lo inet loopback\n"}
    if manager == "ifupdown":
        # What the installer writes. Which of the two there is depends on the node's disks.
        way = "dhcp" if is_dhcp else f"static\n\taddress {node['address']}/{PREFIX}"
        cards = "\n".join(f"allow-hotplug {name}\niface {name} inet {way}\n" for name in ("ens4", "ens5"))
        return {"/etc/network/interfaces": f"auto lo\niface lo inet loopback\n\n{cards}"}
    return {
        "/etc/systemd/network/lan.network": (
            f"[Match]\nMACAddress={node['mac']}\n\n[Network]\n"
            f"{'DHCP=ipv4' if is_dhcp else 'Address={}/{}'.format(node['address'], PREFIX)}\n"
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        ),
    }


def _files(node, memcached_conf, memcached_mib, public_key, network):
    """Return {path in the node: text}."""
    return {
        **_network(node, network),
        "/etc/hostname": f"{node['name']}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{node['address']} {node['name']}\n",
        "/etc/machine-id": f"{uuid.uuid4().hex}\n",
        "/etc/memcached.conf": re.sub(r"^-m \d+$", f"-m {memcached_mib}", memcached_conf, flags=re.M),
        "/root/.ssh/authorized_keys": public_key,
    }  # fmt: skip


def make_disk(base, path, node, memcached_mib, public_key, words, network=("networkd", False)):
    """Copy the image BASE to PATH and personalise it; debugfs writes into ext4 without a mount.

    WORDS: for the kernels' command line, may be none. NETWORK: what manages the cards (networkd, ifupdown, networkmanager), and whether
    by DHCP.
    """
    run("cp", "--sparse=always", "--reflink=auto", base, path)
    device = f"{path}?offset={layout.ROOT_START}"
    conf = run("debugfs", "-R", "cat /etc/memcached.conf", device)
    files = _files(node, conf, memcached_mib, public_key, network)
    if words:
        files |= _boot_files(run("debugfs", "-R", f"cat {_GRUB}", device), words)
    with tempfile.TemporaryDirectory() as scratch:
        commands = []
        for number, (target, text) in enumerate(files.items()):
            source = pathlib.Path(scratch) / str(number)
            source.write_text(text, encoding="utf-8")
            source.chmod(0o644)
            folder, name = target.rsplit("/", 1)
            commands += [f"cd {folder}", f"rm {name}", f"write {source} {name}"]
        script = pathlib.Path(scratch) / "script"
        script.write_text("\n".join(commands) + "\n", encoding="utf-8")
        run("debugfs", "-w", "-f", script, device)
    for target, text in files.items():  # debugfs ends with 0 even if a command failed
        if run("debugfs", "-R", f"cat {target}", device) != text:
            raise LabError(f"The file {target} could not be written into {path}.")
