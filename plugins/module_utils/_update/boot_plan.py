# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the next boot has to do, written before the switch as plain files.

`Plan` lays out the folder ``boot/N`` of checkpoint N. Where the record says that a boot restores it, the generator
(files/node/boot/generator) links its units into systemd's early unit path. Nothing of it is in /etc: once the record moves on, a
``systemctl daemon-reload`` makes it vanish.

    boot/N/restore/   units of a boot that restores the checkpoint (`boot_units`)
    boot/N/ahead/     drop-ins that order restores before the rest of the early boot, unless they wait for its network
    boot/N/pages/     services that bring in memory after the restore, needed until all pages are in place
    boot/N/probation/ units of the new kernel until the commit: the deadline, the watch, and the crash kernel
    boot/N/environment/       plans of the environment program: what the applications have around them (`_environment`)
    boot/N/overcommit the node's setting; while units are being restored it is another
    boot/N/last-pid   the highest process id in use: the new boot counts from there
    boot/N/tries-UNIT the boots that have tried to restore UNIT, a letter for each: n the new kernel, o the old one
                      (files/node/boot/restore-unit)
    boot/N/processes  process id and name of each process, for the report of a restore that fails
    boot/N/frames     engine ppp: where the kept page frames are (`_engines.frames.load`)
    boot/N/resources  for each unit its name, control group, weights (CPU, IO) and memory limits (max, high); it has others while it
                      is being restored
    boot/N/control-groups one line per attribute of a unit's control group: its path, and its value before the switch
    boot/N/apply-again    units with settings that systemd has to put in force again (`_environment.control_group`)
    boot/N/notifications  for each unit its name, microseconds of its watchdog (0: none), and its status text
    boot/N/systemd/   files of units that end with this boot, such as those of systemd-run, laid out as in /run/systemd
    boot/N/private-UNIT/      the files that only the unit sees (`_environment.private_files`)
    boot/N/tasks-UNIT         which of the unit's processes were stopped before the freeze (`_environment.stopped`)
    boot/N/attributes-UNIT    what the unit's processes set of themselves after the restore (`_environment.attributes`)
    boot/N/ended-UNIT the unit was started anew on probation (`watch`)
    boot/N/pairs/     unix connections between units, as the fingerprint program has taken them, and the names of these `units` (`pairs`)
    boot/N/ipc-UNIT   the unit's System V objects (`_environment.ipc`)
    boot/N/files-UNIT the files that the unit has open for writing or mapped, as they were (files/environment/identity.h)
    boot/N/network-lock.nft   the network lock
    boot/N/lock-owner/  the network lock once more, as a table with an owner, and the pipes of the owner
    boot/N/profiles/  AppArmor profiles of units, named UNIT.NUMBER, as the kernel was given them
    boot/N/filter/    the node's packet filter, a file for each tool (`_environment.packet_filter`)
    boot/N/packets.nft    nft's part of that and the network lock, in one transaction
    boot/N/tracked    what connection tracking has noted of the connections, as netlink messages (`_environment.tracked`)
    boot/N/links      cards of the saved connections: hardware address, name, device if that is needed to tell it from another, modules
    boot/N/addresses  their addresses and routes, for ``ip -batch``
    boot/N/devices    names of interfaces that sockets are bound to: they must be there before the restore
    boot/N/routes     one line per route, for ``ip -batch``: all must succeed before sockets can be connected
    boot/N/nonlocal-bind  the node's net.ipv4.ip_nonlocal_bind, where the restore needs another: a socket is bound to an address that the
                      node does not have
"""

from __future__ import annotations

import contextlib
import os
import shutil

from .._blocker import Blocked, about, first_of
from .._environment import (
    attributes,
    clock,
    fork_wiping,
    interrupted,
    ipc,
    mount_points,
    mounts,
    networkd,
    open_files,
    packet_filter,
    run_files,
    security_profiles,
    stopped,
    sysctls,
    tracked,
)
from .._environment import checks as environment_checks
from .._environment.plan import Plans
from .._files import as_bytes, make_directory, read_text
from .._paths import BOOT
from .._system import network, private_places, socket_devices
from .._system.processes import in_cgroup, parents
from . import boot_units, network_lock, unit_state
from . import record as records

_NONLOCAL_BIND = "/proc/sys/net/ipv4/ip_nonlocal_bind"


class Plan:
    """boot/N, in two steps: all that is known before the freeze, then what only a frozen tree tells.

    Nothing is synced here: the record names the plan only after the caller has synced.
    """

    def __init__(self, number, checkpoints, record, frames=""):
        """Write what can be written while the applications serve.

        :param checkpoints: one of each unit, as the engine makes them.
        :param record: the `Record`, for the time limits of the restore and the commit.
        :param frames: what the engine has said on loading the kernel.
        """
        self.directory = f"{BOOT}/{number}"
        shutil.rmtree(self.directory, ignore_errors=True)
        make_directory(self.directory)
        if frames:
            self._put("frames", frames)
        for name, text in unit_state.files([checkpoint.unit for checkpoint in checkpoints]).items():
            self._put(name, text)
        self._put_filter()
        trees = [process for checkpoint in checkpoints for process in checkpoint.unit.processes]
        self._reach = network.Reach(socket_devices.of(trees))
        if self._reach.devices:
            self._put("devices", self._reach.devices)
        self._put_environment([checkpoint.unit for checkpoint in checkpoints])
        self._put("processes", "".join(f"{process.pid} {records.one_line(process.name)}\n" for process in trees))
        self._run_files = run_files.RunFiles([checkpoint.unit for checkpoint in checkpoints])
        sockets = [socket for checkpoint in checkpoints for socket in checkpoint.findings.sockets]
        self._reach.look(sockets)
        self._tracked = tracked.Tracked()
        self._look_at_tracking(sockets)
        self._interfaces = self._reach.interfaces()
        network_is_ours = self._put_links()
        self._put_profiles(checkpoints)
        boot_units.write(self.directory, checkpoints, record, network_is_ours, _mounts(checkpoints))

    def complete(self, sockets, threads):
        """Write the rest, while everything is frozen.

        :param sockets: all inet sockets of the trees.
        :param threads: ids of all their threads.
        """
        self._reach.look(sockets)
        if self._reach.interfaces() - self._interfaces:
            self._interfaces = self._reach.interfaces()
            self._put_links()
        self._put("network-lock.nft", network_lock.ruleset(sockets))
        self._put("lock-owner/table.nft", network_lock.held_ruleset(sockets))
        self._put("routes", self._reach.queries(sockets))
        self._look_at_tracking(sockets)
        noted = self._tracked.messages(sockets)
        if noted:
            self._put("tracked", noted)
        if self._reach.missing(sockets):
            self._put("nonlocal-bind", read_text(_NONLOCAL_BIND, "0") + "\n")
        self._run_files.put_plan(self._plans, self.directory)
        self._put("last-pid", f"{max(threads) + 1}\n")

    def note_trees(self, checkpoints):
        """Write what of files and processes belongs to the memory of each unit, while everything is frozen and the images are complete.

        :raises KupError: a process cannot be looked at.
        """
        trees = {each.unit.name: in_cgroup(each.unit.cgroup) for each in checkpoints}
        ancestors = parents()
        places = {each.unit.name: private_places.of(each.unit) for each in checkpoints}
        open_files.note(
            self.directory, {name: ([one.pid for one in tree], places[name]) for name, tree in trees.items()}
        )
        for name, text in ipc.put_plan(self._plans, checkpoints).items():
            self._put(name, text)
        for each in checkpoints:
            name = each.unit.name
            interrupted.begin_anew(trees[name], each.directory, each.calls)
            self._put(
                f"tasks-{name}", "".join(f"{line}\n" for line in stopped.lines(trees[name], each.directory, ancestors))
            )
            forgets = each.findings.forgets
            lines = attributes.lines(each.attributes, trees[name], each.unit.main_pid, each.directory, forgets)
            if each.wiped is not None:
                lines += fork_wiping.lines(each.wiped, trees[name])
            if lines:
                self._put(f"attributes-{name}", "".join(f"{line}\n" for line in lines))

    def _put_environment(self, units):
        self._plans = Plans(f"{self.directory}/environment")
        clock.put_plan(self._plans)
        settings = sysctls.collect()
        sysctls.put_plan(self._plans, settings, sysctls.drift(settings))
        mount_points.put_plan(self._plans, units)
        networkd.put_plan(self._plans)
        self._put("overcommit", f"{settings[sysctls.OVERCOMMIT]}\n")

    def _look_at_tracking(self, sockets):
        # The connections that it knows nothing of go on, but for those that a rule translates.
        with contextlib.suppress(OSError):
            self._tracked.look(sockets)

    def _put_links(self):
        """Returns whether all interfaces are plain enough to be brought up without the network manager."""
        links, complete = network.links(self._interfaces)
        self._put(
            "links",
            "".join(
                f"{link.mac} {link.name} {link.device} {' '.join(link.modules)}\n"
                for link in links
                if not link.cardless
            ),
        )
        commands = [line for link in links for line in link.commands]
        self._put("addresses", "".join(f"{line}\n" for line in commands))
        return complete

    def _put_filter(self):
        make_directory(f"{self.directory}/filter")
        recorded = packet_filter.record()
        if recorded.lost:
            raise Blocked(environment_checks.packet_filter(recorded.lost, ""))
        for name, text in recorded.files.items():
            self._put(f"filter/{name}", text)
        files = (f"{self.directory}/{name}" for name in ("filter/rules.nft", "network-lock.nft"))
        self._put("packets.nft", "".join(f'include "{path}"\n' for path in files))
        make_directory(f"{self.directory}/lock-owner")
        for name in ("commands", "answers"):
            os.mkfifo(f"{self.directory}/lock-owner/{name}", 0o600)

    def _put_profiles(self, checkpoints):
        for checkpoint in checkpoints:
            unit = checkpoint.unit
            labels = security_profiles.of_unit(unit)
            _refuse(unit, environment_checks.LABEL_CHECKS, labels)
            for number, content in enumerate(security_profiles.contents(labels).values()):
                make_directory(f"{self.directory}/profiles")
                self._put(f"profiles/{unit.name}.{number}", content)

    def _put(self, name, text):
        path = f"{self.directory}/{name}"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(text if isinstance(text, bytes) else as_bytes(text))


def _refuse(unit, checks, seen):
    """:raises Blocked: one of what was ``seen`` of the unit would be missing in the next boot."""
    refused = [each for one in seen for each in first_of(checks, one)]
    if refused:
        raise Blocked(about(refused, unit=unit.name))


def _mounts(checkpoints):
    """Places of the file systems that each unit waits for: dict unit → list.

    :raises Blocked: the next boot would not have one of them.
    """
    found = {}
    for checkpoint in checkpoints:
        used = mounts.of_unit(checkpoint.unit)
        _refuse(checkpoint.unit, environment_checks.MOUNT_CHECKS, used)
        found[checkpoint.unit.name] = [mount.place for mount in used]
    return found
