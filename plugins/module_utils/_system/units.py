# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""systemd units as they are now."""

from __future__ import annotations

import contextlib
import os
import re
import shlex

from .._errors import KupError
from .._files import read_text
from .._run import run
from . import accounts, containers, credentials, processes

#: What of the processor and of disks a unit can have at most, as CPUWeight= and IOWeight=.
HEAVIEST = 10000

_NAME = re.compile(r"^[A-Za-z0-9:_.\\@-]+\.service$")

_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "ControlGroup",
    "Type",
    "FragmentPath",
    "DropInPaths",
    "NRestarts",
    "Result",
    "CPUWeight",
    "IOWeight",
    "NotifyAccess",
    "StatusText",
    "WatchdogUSec",
    "TriggeredBy",
    "NFileDescriptorStore",
    "MemoryDenyWriteExecute",
    "DevicePolicy",
    "DeviceAllow",
    "BindPaths",
    "BindReadOnlyPaths",
    "DynamicUser",
    "User",
    "Group",
    "SupplementaryGroups",
    "PrivateTmpEx",
    "TemporaryFileSystem",
    "SyslogIdentifier",
    "ExecStart",
    "RestrictFileSystems",
)

_SECURITY_MODULES = "/sys/kernel/security/lsm"

# What format_timespan() in systemd's src/basic/time-util.c prints, in microseconds.
_TIMES = {"y": 31557600 * 10**6, "month": 2629800 * 10**6, "w": 604800 * 10**6, "d": 86400 * 10**6, "h": 3600 * 10**6}
_TIMES |= {"min": 60 * 10**6, "s": 10**6, "ms": 1000, "us": 1}


def full_name(name):
    """Unit name with its suffix: ``memcached`` → ``memcached.service``.

    :raises KupError: not the name of a service.
    """
    full = name if "." in name else f"{name}.service"
    if not _NAME.match(full):
        raise KupError(f"{name!r} is not the name of a systemd service, expected something like 'memcached.service'.")
    return full


def full_names(names):
    """`full_name` of all ``names``.

    :raises KupError: there is none, or one twice: nothing may ever kexec without carrying anything.
    """
    full = [full_name(name) for name in names]
    if not full:
        raise KupError(
            "kup_units is empty on this node, expected at least one service such as 'memcached.service'; name one."
        )
    twice = sorted({name for name in full if full.count(name) > 1})
    if twice:
        raise KupError(f"kup_units names {twice[0]} more than once, expected each service once; name it once.")
    return full


def show(name, *properties):
    """Properties of a unit: dict of text, with an empty text for what systemd does not tell."""
    done = run(["systemctl", "show", f"--property={','.join(properties)}", "--", name])
    # Only "\n" ends a line: a service may have U+2028 and the like in its status text, and another property behind it.
    found = dict(line.partition("=")[::2] for line in done.stdout.split("\n"))
    return {key: found.get(key, "") for key in properties}


def microseconds(text):
    """A time as ``systemctl show`` prints it, such as ``1min 2.5s``; 0 for ``infinity``, and for what is none."""
    found = re.findall(r"([0-9.]+)([a-z]+)", text)
    return sum(round(float(number) * _TIMES.get(unit, 0)) for number, unit in found)


def definition(name):
    """A unit's own text as systemd reads it, of any kind of unit; empty where it has none."""
    properties = show(name, "FragmentPath", "DropInPaths")
    with contextlib.suppress(FileNotFoundError):
        return _text(properties)
    return ""


def commands(text):
    """What a unit's text has for ``ExecStart=``, a list; an empty one takes back those before it."""
    found = []
    for command in re.findall(r"^[ \t]*ExecStart[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
        found = [*found, command] if command else []
    return found


class Unit:
    """A service and its processes.

    ``name``, ``main_pid`` (0: none), ``cgroup`` (path below /sys/fs/cgroup), ``processes`` (list of `Process`),
    ``properties`` (dict as `show` gives it).
    """

    def __init__(self, name):
        self.name = full_name(name)
        self.properties = show(self.name, *_PROPERTIES)
        self.main_pid = int(self.properties["MainPID"] or 0)
        self.cgroup = self.properties["ControlGroup"]
        self.processes = processes.in_cgroup(self.cgroup) if self.cgroup else []

    @property
    def active(self):
        """Whether the unit is active and has a main process."""
        return self.properties["ActiveState"] == "active" and self.main_pid > 0

    @property
    def main(self):
        """The main process."""
        return processes.Process(self.main_pid)

    @property
    def own_mounts(self):
        """Whether the unit has a mount namespace of its own (a sandbox)."""
        return self.main.namespace("mnt") != os.readlink("/proc/1/ns/mnt")

    @property
    def device_policy(self):
        """Whether the unit may not open every device (DevicePolicy=, DeviceAllow=, PrivateDevices=)."""
        return self.properties["DevicePolicy"] not in ("", "auto") or bool(self.properties["DeviceAllow"])

    @property
    def rss(self):
        """Resident bytes of all processes."""
        return sum(process.rss for process in self.processes)

    @property
    def shmem(self):
        """Resident bytes of all processes' shared memory."""
        return sum(process.shmem for process in self.processes)

    def freeze(self):
        """Have the kernel keep all processes from running, whatever happens to the program that has stopped them.

        Control groups of version 1 have no freezer of this kind: nothing is done there.
        """
        self._set_freezer("1")

    def thaw(self):
        """Undo `freeze`."""
        self._set_freezer("0")

    @property
    def frozen(self):
        """Whether no process runs any more since `freeze`; also where there is no such freezer."""
        return "frozen 0" not in read_text(f"{processes.CGROUPS}{self.cgroup}/cgroup.events", "")

    def _set_freezer(self, state):
        path = f"{processes.CGROUPS}{self.cgroup}/cgroup.freeze"
        with contextlib.suppress(FileNotFoundError), open(path, "w", encoding="ascii") as stream:
            stream.write(state)

    @property
    def drop_ins(self):
        """Paths of all drop-ins that systemd has read for the unit: its own, those of its template, prefixes, type and other names."""
        return _drop_ins(self.properties)

    @property
    def watchdog(self):
        """Microseconds after which systemd ends the unit if it has not heard of it; 0: never."""
        return microseconds(self.properties["WatchdogUSec"])

    @property
    def remote_accounts(self):
        """Names of the unit's user and groups that only a directory service knows (LDAP)."""
        made = self.properties["DynamicUser"] == "yes"
        users, groups = ([] if made else [self.properties[name]] for name in ("User", "Group"))
        groups += self.properties["SupplementaryGroups"].split()
        return accounts.absent(users, "/etc/passwd") + accounts.absent(groups, "/etc/group")

    @property
    def restricted_file_systems(self):
        """Whether it may not open files of some file systems, and the kernel can see to that."""
        has_module = "bpf" in read_text(_SECURITY_MODULES, "").strip().split(",")
        return has_module and bool(self.properties["RestrictFileSystems"].lstrip("~"))

    @property
    def late_credentials(self):
        """Its credentials that may not be there early in a boot: list of (name, where it comes from)."""
        return credentials.late(self.definition())

    @property
    def missing_files(self):
        """Files that systemd has read for the unit and that are not there any more."""
        return [path for path in (self.properties["FragmentPath"], *self.drop_ins) if path and not os.path.exists(path)]

    @property
    def listening_for(self):
        """Socket units that listen for the unit, now or from the next boot on."""
        names = [name for name in self.properties["TriggeredBy"].split() if name.endswith(".socket")]
        found = {name: show(name, "ActiveState", "UnitFileState") for name in names}
        return [
            name
            for name in names
            if found[name]["ActiveState"] == "active" or found[name]["UnitFileState"] == "enabled"
        ]

    @property
    def containers(self):
        """Containers that run in the unit: `containers.Container`s."""
        return containers.of(self)

    def definition(self):
        """The unit's own text as systemd reads it: fragment and drop-ins, in order."""
        return _text(self.properties)

    def slices(self):
        """The same of the slices that the unit is in: dict name → text."""
        names = [name for name in self.cgroup.split("/") if name.endswith(".slice")]
        return {name: _text(show(name, "FragmentPath", "DropInPaths")) for name in names}


def _text(properties):
    texts = []
    for path in filter(None, (properties["FragmentPath"], *_drop_ins(properties))):
        # A comment may be in any encoding.
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            texts.append(stream.read())
    return "\n".join(texts)


def _drop_ins(properties):
    return shlex.split(properties["DropInPaths"])  # systemctl quotes what a shell would not leave alone
