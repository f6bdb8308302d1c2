"""The Ansible inventory of a lab; its ProxyCommand enters the lab's network namespace."""

import json
import secrets

from . import network


def ssh_arguments(state, name):
    """Return the ssh options that reach any node of lab NAME, as a list."""
    return [
        "-o", f"ProxyCommand=ip netns exec {network.namespace(name)} nc %h %p",
        "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
        "-o", "GSSAPIAuthentication=no", "-o", "IdentitiesOnly=yes", "-o", f"IdentityFile={state}/id_ed25519",
    ]  # fmt: skip


def _quoted(words):
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def write(path, state, name, nodes):
    """Write the inventory file PATH: the group memcache with one host per node (JSON is YAML)."""
    shared = {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": f"{state}/id_ed25519",
        "ansible_ssh_common_args": _quoted(ssh_arguments(state, name)),
        "ansible_python_interpreter": "/usr/bin/python3",
        # Every lab has the same addresses, and Ansible names a shared connection by its address: without a name of
        # its own the node of another lab, or of the one before, would answer. Nor may a user take over the connection of another one.
        "ansible_control_path": f"%(directory)s/{name}-{secrets.token_hex(3)}-%%r@%%h",
    }
    lines = ["memcache:", "  vars:"]
    lines += [f"    {key}: {json.dumps(value)}" for key, value in shared.items()]
    lines += ["  hosts:"]
    for node in nodes:
        lines += [f"    {node['name']}:", f"      ansible_host: {node['address']}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
