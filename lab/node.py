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


def _network(node, is_stock):
    """Return {path in the node: text} of what sets its address."""
    if is_stock:
        # What the installer writes. Which of the two there is depends on the node's disks.
        card = "allow-hotplug {0}\niface {0} inet static\n\taddress " + f"{node['address']}/{PREFIX}\n"
        cards = "\n".join(card.format(name) for name in ("ens4", "ens5"))
        return {"/etc/network/interfaces": f"auto lo\niface lo inet loopback\n\n{cards}"}
    return {
        "/etc/systemd/network/lan.network": (
            "[Match]\n" f"MACAddress={node['mac']}\n\n" "[Network]\n" f"Address={node['address']}/{PREFIX}\n"
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        ),
    }  # fmt: skip


def _files(node, memcached_conf, memcached_mib, public_key, is_stock):
    """Return {path in the node: text}."""
    return {
        **_network(node, is_stock),
        "/etc/hostname": f"{node['name']}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{node['address']} {node['name']}\n",
        "/etc/machine-id": f"{uuid.uuid4().hex}\n",
        "/etc/memcached.conf": re.sub(r"^-m \d+$", f"-m {memcached_mib}", memcached_conf, flags=re.M),
        "/root/.ssh/authorized_keys": public_key,
    }  # fmt: skip


def make_disk(base, path, node, memcached_mib, public_key, words, is_stock=False):
    """Copy the image BASE to PATH and personalise it; debugfs writes into ext4 without a mount.

    WORDS: for the kernels' command line, may be none. IS_STOCK: the base is a server as Debian's installer leaves it.
    """
    run("cp", "--sparse=always", "--reflink=auto", base, path)
    device = f"{path}?offset={layout.ROOT_START}"
    conf = run("debugfs", "-R", "cat /etc/memcached.conf", device)
    files = _files(node, conf, memcached_mib, public_key, is_stock)
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
