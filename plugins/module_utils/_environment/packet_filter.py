# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What filters the node's packets, whoever loaded it, in a form that the next boot can load before any interface exists.

nft prints its rules so that it can read them again. It cannot read the extensions of iptables; tables that have any are recorded by
iptables-nft-save, and those of iptables-legacy, which nft does not see, by iptables-legacy-save.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field

from .._files import read_text
from .._run import run

# Our own tables, those of CRIU, and that of podman (netavark): its containers end with the kernel, and the next ones get other addresses.
_LEFT_OUT = re.compile(r"table inet (kup|kup_held|kup_parked|CRIU-\S+|netavark) ")
# The same of podman in tables of iptables, which have rules of others as well: its chains, what is in them, and what leads there.
_OF_CONTAINERS = re.compile(r'^:NETAVARK[-_]|^(?:[^"]|"[^"]*")* -[Ajg] NETAVARK[-_]|^-A NETAVARK[-_]')
# A text in quotes; a route look-up, in which `iif` is an argument; a rule by the number of an interface.
_INTERFACE = re.compile(r'"[^"]*"|\bfib(?: \w+ \.)* \w+ (?:oifname|oif|type)\b|\b[io]if\b|\biface_index\b')
_BY_NAME = {"iif": "iifname", "oif": "oifname", "iface_index": "ifname"}
_SAVES = {"ip": "iptables-nft", "ip6": "ip6tables-nft"}
_LEGACY = {"iptables-legacy": "/proc/net/ip_tables_names", "ip6tables-legacy": "/proc/net/ip6_tables_names"}

#: Loads the files of a folder as files/node/boot/early does, in a network namespace of its own.
_LOADER = """cd "$1" && for tool in ipset iptables-nft ip6tables-nft iptables-legacy ip6tables-legacy; do
[ -e $tool ] || continue
case $tool in ipset) ipset restore <ipset ;; *) $tool-restore --counters <$tool ;; esac || exit 1
done
nft -f rules.nft"""


@dataclass
class Filter:
    """``files``: name → text, ``rules.nft`` and one for each other tool that has rules; ``lost``: what no tool can record."""

    files: dict = field(default_factory=dict)
    lost: list = field(default_factory=list)


def record():
    """The node's `Filter`."""
    found = Filter()
    extended = _extended_tables()
    found.files["rules.nft"] = _portable(run(["nft", "list", "ruleset"]).stdout, extended)
    for family, name in sorted(extended):
        tool = _SAVES.get(family)
        if tool and shutil.which(f"{tool}-save"):
            found.files[tool] = found.files.get(tool, "") + _saved(tool, "--table", name)
        else:
            found.lost.append(f"the table {family} {name}, with extensions of iptables")
    for tool, names in _LEGACY.items():
        if not read_text(names, ""):
            continue
        if shutil.which(f"{tool}-save"):
            found.files[tool] = _saved(tool)
        else:
            found.lost.append(f"the tables of {tool}")
    if "socket cgroupv2" in found.files["rules.nft"]:
        found.lost.append("a rule for a control group")
    # Sets that rules of iptables refer to.
    if len(found.files) > 1 and shutil.which("ipset") and (sets := run(["ipset", "save"]).stdout):
        found.files["ipset"] = sets
    return found


def _saved(tool, *words):
    """Rules of iptables by a ``tool``, without those that podman makes anew with each container."""
    text = run([f"{tool}-save", "--counters", *words]).stdout
    return "".join(line for line in text.splitlines(keepends=True) if not _OF_CONTAINERS.match(line))


def why_not_loadable(recorded):
    """What the tools say when they load a `Filter` where no interface but lo exists; empty if they load it."""
    if not any(recorded.files.values()):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in recorded.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        done = run(["unshare", "--net", "/bin/sh", "-c", _LOADER, "sh", folder], check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]


def _extended_tables():
    """(family, name) of each table with a rule that only iptables-nft can read."""
    listed = json.loads(run(["nft", "--json", "list", "ruleset"]).stdout)["nftables"]
    rules = [entry["rule"] for entry in listed if "rule" in entry]
    return {
        (rule["family"], rule["table"])
        for rule in rules
        if any(isinstance(part, dict) and "xt" in part for part in rule["expr"])
    }


def _portable(listed, left_out):
    """``nft list ruleset`` for a node that has no interfaces yet, without tables that the next boot makes itself and those ``left_out``."""
    kept = []
    for table in re.split(r"^(?=table )", listed, flags=re.MULTILINE):
        words = table.split()
        if not words or words[0] != "table" or _LEFT_OUT.match(table) or (words[1], words[2]) in left_out:
            continue
        lines = [line for line in table.splitlines() if not line.startswith("#")]
        kept += [_without_owner(_by_name(line)) for line in lines]
    return "".join(f"{line}\n" for line in kept if line)


def _by_name(line):
    """By number, an interface must exist when the rule is loaded; by name it need not."""
    return _INTERFACE.sub(lambda found: _BY_NAME.get(found.group(), found.group()), line)


def _without_owner(line):
    """A table that is owned goes with the program that loaded it, and the service that owned it makes its own."""
    line = re.sub(r"^(table .* \{) # progname .*", r"\1", line)
    flags = re.match(r"^\tflags ([\w,]+)$", line)
    if not flags:
        return line
    others = [flag for flag in flags.group(1).split(",") if flag not in ("owner", "persist")]
    return f"\tflags {','.join(others)}" if others else ""
