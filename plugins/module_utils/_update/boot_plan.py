# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the next boot has to do, written before the switch as plain unit files.

`Plan` lays out a directory that the generator (files/node/generator) links into systemd's early unit path when the
record says so. Nothing of it is in /etc: once the record moves on, a ``systemctl daemon-reload`` makes it vanish.

    boot/N/restore/   units of a boot that has to restore checkpoint N
    boot/N/ahead/     drop-ins by which restores go before the rest of the early boot, unless they wait for its network
    boot/N/pages/     services that bring in memory after the restore, needed until it is in place
    boot/N/probation/     units of the new kernel until commit: the deadline, the watch, and the crash kernel
    boot/N/last-pid   the highest process id in use: the new boot counts from there
    boot/N/tries-UNIT which boots have tried to restore it, a letter for each: n the new kernel, o the old one (files/node/restore)
    boot/N/frames     engine ppp: where the kept page frames are (`frames.load`)
    boot/N/resources  for each unit its name, control group, weights (CPU, IO) and limits of memory (max, high), others than which
                      it has while it is being restored
    boot/N/hold.nft   the packets to hold
    boot/N/links      interfaces of the saved connections: hardware address, name, modules
    boot/N/addresses  what to give them, for ``ip -batch``
    boot/N/routes     one line per peer, for ``ip -batch``: all must succeed before sockets can be connected
"""

from __future__ import annotations

import os
import re
import shutil

from .._boot import panic
from .._files import make_directory, read_text
from .._paths import BOOT, RUN, RUNTIME
from .._run import run
from .._system import network
from .._system.processes import CGROUPS
from .._system.units import HEAVIEST, show
from . import network_lock

# Left out of a unit's text while it is being restored: what orders it into the late boot, or runs it in the ordinary
# way. Everything is back after the daemon-reload that ends the restore.
_ORDERING = "After|Before|Wants|Requires|Requisite|BindsTo|PartOf|Upholds|DefaultDependencies|JoinsNamespaceOf"
_CONDITIONS = r"Condition\w+|Assert\w+|OnFailure|OnSuccess|StartLimit\w+|RequiresMountsFor|WantsMountsFor"
_EXECUTION = r"Exec\w+|Type|PIDFile|Restart\w*|TimeoutStartSec|TimeoutSec|StandardInput|StandardOutput|StandardError"
# A restore has limits of memory and weights of its own; these would set them by another name.
_RESOURCES = r"Memory(Max|High|Limit)|Startup\w+"
_DROPPED = re.compile(
    rf"^\s*({_ORDERING}|{_CONDITIONS}|{_EXECUTION}|{_RESOURCES}|WatchdogSec|NotifyAccess|GuessMainPID)\s*="
)

# Where our own are, while an update is under way.
_GENERATED = "/run/systemd/generator"

# What a restore itself waits for, and targets that are waited for by what a mount needs.
_NEEDED = ("systemd-remount-fs.service", "local-fs.target", "local-fs-pre.target", "swap.target")

_EARLY = """
[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
"""


class Plan:
    """boot/N, in two steps: all that is known before the freeze, then what only a frozen tree tells.

    Nothing is synced here: the record names the plan only after the caller has synced.
    """

    def __init__(self, number, parts, record, frames=""):
        """Write what can be written while the applications serve.

        :param parts: the checkpoints, as the engines make them.
        :param record: the `Record`, for what a restore and the commit may take.
        :param frames: what the engine has said on loading the kernel.
        """
        self.directory = f"{BOOT}/{number}"
        shutil.rmtree(self.directory, ignore_errors=True)
        for part in ("", "/restore", "/pages", "/probation"):
            make_directory(self.directory + part)
        if frames:
            _put(f"{self.directory}/frames", frames)
        _put(f"{self.directory}/resources", "".join(f"{part.unit.name} {_resources(part.unit)}\n" for part in parts))
        sockets = [socket for part in parts for socket in part.findings.sockets]
        self._bound = network.bound(sockets)
        network_is_ours = self._links(sockets)
        restore, others = f"{self.directory}/restore", _early_units()
        _early(restore, others)
        for part in parts:
            for name, text in part.services().items():
                _unit_file(f"{self.directory}/pages", name, text)
            _restored_unit(restore, part, record["RESTORE_TIMEOUT"])
            if network_is_ours and _on_root(os.path.dirname(part.directory)):
                _ahead(f"{self.directory}/ahead", part.unit.name, others)
        _arrival(restore, [part.unit.name for part in parts])
        _deadline(f"{self.directory}/probation", record["COMMIT_TIMEOUT"])
        _crash(f"{self.directory}/probation", restore)
        if int(record["WATCH_INTERVAL"] or 0):
            _watch(f"{self.directory}/probation", record["WATCH_INTERVAL"])

    def complete(self, sockets, threads):
        """Write the rest, while everything is frozen.

        :param sockets: all inet sockets of the trees.
        :param threads: ids of all their threads.
        """
        if network.bound(sockets) - self._bound:
            self._links(sockets)
        _put(f"{self.directory}/hold.nft", network_lock.ruleset(sockets))
        _put(f"{self.directory}/routes", network.route_queries(sockets))
        _put(f"{self.directory}/last-pid", f"{max(threads) + 1}\n")

    def _links(self, sockets):
        links, complete = network.links(sockets)
        _put(f"{self.directory}/links", "".join(f"{link.mac} {link.name} {' '.join(link.modules)}\n" for link in links))
        commands = [line for link in links for line in link.commands]
        _put(f"{self.directory}/addresses", "".join(f"{line}\n" for line in commands))
        return complete


def _put(path, text, mode=0o600):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as stream:
        stream.write(text)


def _resources(unit):
    """A unit's control group, its weights (the kernel's default where it has none of its own), and its limits as the kernel takes them."""
    group = f"{CGROUPS}{unit.cgroup}"
    values = (unit.properties[name] for name in ("CPUWeight", "IOWeight"))
    weights = [value if value.isdigit() and int(value) <= HEAVIEST else "100" for value in values]
    limits = [read_text(f"{group}/memory.{name}", "max") for name in ("max", "high")]
    return " ".join([group, *weights, *limits])


def _unit_file(directory, name, text, wanted_by=None):
    _put(f"{directory}/{name}", text, 0o644)
    if wanted_by:
        make_directory(f"{directory}/{wanted_by}.wants")
        os.symlink(f"../{name}", f"{directory}/{wanted_by}.wants/{name}")


def _early_units():
    """What else systemd starts early: all of it, mounts excepted, can wait for the applications."""
    listed = run(["systemctl", "list-dependencies", "--plain", "--no-legend", "sysinit.target"]).stdout.split()
    kinds = (".service", ".target")
    return sorted({name for name in listed if name.endswith(kinds) and name not in _NEEDED})


def _early(directory, others):
    """A oneshot before everything that could take what the applications had: their pids, packets and addresses."""
    watchdog = " ".join(f"modprobe@{driver}.service" for driver in panic.watchdog_drivers())
    _unit_file(
        directory,
        "kup-early.service",
        f"""{_EARLY}
Description=Keep pids, packets and addresses of checkpointed applications
# Once in a boot. Whatever is started meanwhile wants sysinit.target, and with it this, which is over by then.
ConditionPathExists=!{RUN}/held
Before={" ".join(others)}
Before=network-pre.target systemd-networkd.service networking.service NetworkManager.service
Wants=network-pre.target
# Beside the restores, because a kernel that hangs while the other drivers are loaded is to be ended; not beside this, because it
# makes a thread, which must not have an application's pid.
Wants={watchdog}
Before={watchdog}
OnFailure=kup-restore-failed.service

[Service]
Type=oneshot
TimeoutStartSec=60
ExecStart=/bin/sh {RUNTIME}/early
""",
        "sysinit.target",
    )


def restored_text(definition):
    """A unit's own text without what would order it late, start it afresh or limit its memory; sections and other limits stay."""
    kept, dropping = [], False
    for line in definition.splitlines():
        dropped = dropping or bool(_DROPPED.match(line))
        dropping = dropped and line.endswith("\\")
        if not dropped:
            kept.append(line)
    return "\n".join(kept) + "\n"


def _on_root(path):
    return os.stat(path).st_dev == os.stat("/").st_dev


def _ahead(directory, name, others):
    # Whoever asked to be started before this unit still is: two opposite orders would make systemd drop one of the jobs.
    before = [other for other in others if other not in show(name, "After")["After"].split()]
    make_directory(directory)
    make_directory(f"{directory}/{name}.d")
    _unit_file(f"{directory}/{name}.d", "kup-ahead.conf", f"[Unit]\nBefore={' '.join(before)}\n")


def _restored_unit(directory, part, timeout):
    unit = part.unit
    pidfile = f"{RUN}/{unit.name}.pid"
    # One shell for all of it: each command of its own would wait for systemd to have time between starting other units.
    restore = " ".join(part.restore_command(pidfile))
    services = " ".join(part.services())
    text = f"""{restored_text(unit.definition())}
[Unit]
DefaultDependencies=no
Requires=kup-early.service
Wants={services}
After=kup-early.service {services} systemd-remount-fs.service systemd-journald.socket
RequiresMountsFor={part.directory} /var/lib /usr
Conflicts=shutdown.target
Before=shutdown.target
OnFailure=kup-restore-failed.service

[Service]
Type=forking
PIDFile={pidfile}
Restart=no
TimeoutStartSec={timeout}
PrivateTmp=no
StandardInput=null
StandardOutput=journal
StandardError=inherit
ExecStart=+/bin/sh {RUNTIME}/restore {unit.name} {restore}
# At once, before systemd goes on with what this unit was ahead of; that may take longer than the application's own end.
TimeoutStopSec=90
ExecStopPost=+/bin/sh {RUNTIME}/restore-failed at-once
{part.service_lines}"""
    _unit_file(directory, unit.name, text, "sysinit.target")
    drop_ins = f"{directory}/{unit.name}.d"
    make_directory(drop_ins)
    # What is in the drop-ins is in the text above already: hide them.
    for drop_in in unit.properties["DropInPaths"].split():
        if os.path.basename(os.path.dirname(drop_in)) == f"{unit.name}.d" and not drop_in.startswith(_GENERATED):
            os.symlink("/dev/null", f"{drop_ins}/{os.path.basename(drop_in)}")
    # Those of `systemctl set-property` are still seen, as their directory comes before this one. The last by name counts.
    _unit_file(
        drop_ins,
        "zz-kup-restore.conf",
        f"""
[Service]
CPUWeight={HEAVIEST}
IOWeight={HEAVIEST}
# What restores takes memory in the same control group: at the application's limit the OOM killer would end it. A slice's limit stays.
MemoryMax=infinity
MemoryHigh=infinity
""",
    )


def _arrival(directory, names):
    listed = " ".join(names)
    _unit_file(
        directory,
        "kup-arrived.service",
        f"""{_EARLY}
Description=Note that checkpointed applications run again
Requires={listed}
After={listed}
OnFailure=kup-restore-failed.service

[Service]
Type=oneshot
# The applications may be busy, and are as heavy until this is over.
CPUWeight={HEAVIEST}
IOWeight={HEAVIEST}
ExecStart=/bin/sh {RUNTIME}/arrived
""",
        "sysinit.target",
    )
    _unit_file(
        directory,
        "kup-restore-failed.service",
        # It writes the record.
        f"""{_EARLY}
Description=Go back because checkpointed applications could not be restored
After=systemd-remount-fs.service

[Service]
Type=oneshot
ExecStart=/bin/sh {RUNTIME}/restore-failed
""",
    )


def _crash(directory, restore):
    """:param restore: directory of what is there only until the applications have arrived."""
    _unit_file(
        directory,
        "kup-crash.service",
        # After kup-early, which attaches the frames that were kept.
        f"""{_EARLY}
Description=Load the old kernel as who takes over from a panic
# Once in a boot, like kup-early: to load it again is to be without one meanwhile, and in the way of who goes back.
ConditionPathExists=!{RUN}/crash
After=kup-early.service

[Service]
Type=oneshot
# Nobody waits for it; a commit, and who goes back, ends it.
TimeoutStartSec=infinity
TimeoutStopSec=10
CPUWeight=100
ExecStart=/bin/sh {RUNTIME}/arm-crash
""",
        "sysinit.target",
    )
    make_directory(f"{restore}/kup-crash.service.d")
    _unit_file(
        f"{restore}/kup-crash.service.d",
        "restoring.conf",
        # kexec(8) sums up the image for seconds on a slow processor. A restore sleeps and wakes all the time, and on a machine with one
        # processor it would wait for a time slice of that each time.
        """
[Service]
CPUWeight=idle
""",
    )


def _deadline(directory, commit_timeout):
    _unit_file(
        directory,
        "kup-deadline.timer",
        f"""{_EARLY}
Description=Time limit for the commit of a kernel update

[Timer]
OnBootSec={commit_timeout}
AccuracySec=1s
""",
        "sysinit.target",
    )
    _unit_file(
        directory,
        "kup-deadline.service",
        # Somebody else may be at work on the node at that moment, or the applications not be back yet: ask again. Each
        # dump that fails costs the applications a moment, so not for ever.
        f"""
[Unit]
Description=Go back to the old kernel: nobody committed the update in time
StartLimitIntervalSec=infinity
StartLimitBurst=20

[Service]
Type=oneshot
Restart=on-failure
RestartSec=30
KillMode=process
ExecStart={RUNTIME}/node fallback "nobody committed within {commit_timeout} s"
ExecStopPost=/bin/sh {RUNTIME}/given-up
""",
    )


def _watch(directory, interval):
    _unit_file(
        directory,
        "kup-watch.timer",
        f"""
[Unit]
Description=Judge a kernel update on probation again and again

[Timer]
OnActiveSec={interval}
OnUnitInactiveSec={interval}
AccuracySec=1s
""",
        "timers.target",
    )
    _unit_file(
        directory,
        "kup-watch.service",
        f"""
[Unit]
Description=Judge a kernel update on probation

[Service]
Type=oneshot
TimeoutStopSec=10
ExecStart={RUNTIME}/node watch
""",
    )
