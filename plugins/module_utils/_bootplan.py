# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the next boot has to do, written before the switch as plain unit files.

`write` lays out a directory that the generator (files/node/generator) links into systemd's early unit path when the
record says so. Nothing of it is in /etc: once the record moves on, a ``systemctl daemon-reload`` makes it vanish.

    boot/N/restore/   units of a boot that has to restore checkpoint N
    boot/N/trial/     units of the new kernel until commit: the deadline
    boot/N/hold.nft   the packets to hold
    boot/N/routes     one line per peer, for ``ip -batch``: all must have a route before sockets can be connected
"""

from __future__ import annotations

import os
import re
import shutil

from . import _criu, _hold
from ._files import make_directory, write_file
from ._paths import BOOT, RUN, RUNTIME

# Left out of a unit's text while it is being restored: what orders it into the late boot, or runs it in the ordinary
# way. Everything is back after the daemon-reload that ends the restore.
_ORDERING = "After|Before|Wants|Requires|Requisite|BindsTo|PartOf|Upholds|DefaultDependencies|JoinsNamespaceOf"
_CONDITIONS = r"Condition\w+|Assert\w+|OnFailure|OnSuccess|StartLimit\w+|RequiresMountsFor|WantsMountsFor"
_EXECUTION = r"Exec\w+|Type|PIDFile|Restart\w*|TimeoutStartSec|TimeoutSec|StandardInput|StandardOutput|StandardError"
_DROPPED = re.compile(rf"^\s*({_ORDERING}|{_CONDITIONS}|{_EXECUTION}|WatchdogSec|NotifyAccess|GuessMainPID)\s*=")

_EARLY = """
[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
"""


def write(number, parts, *, timeout, commit_timeout):
    """Write boot/``number`` for ``parts``: list of (`Unit`, `Findings`, images directory).

    Runs while the applications are frozen: it only writes small files; the caller syncs.

    :param timeout: seconds that a restore may take.
    :param commit_timeout: seconds after the new kernel's start at which an uncommitted node goes back.
    """
    directory = f"{BOOT}/{number}"
    shutil.rmtree(directory, ignore_errors=True)
    for part in ("", "/restore", "/trial"):
        make_directory(directory + part)
    sockets = [socket for _unit, findings, _images in parts for socket in findings.sockets]
    write_file(f"{directory}/hold.nft", _hold.ruleset(sockets))
    write_file(f"{directory}/routes", "".join(sorted({_route(s) for s in sockets if s.connected and not _loopback(s)})))
    _reserve(f"{directory}/restore", [unit for unit, _findings, _images in parts])
    for unit, findings, images in parts:
        _restored_unit(f"{directory}/restore", directory, unit, findings, images, timeout)
    _opening(f"{directory}/restore", [unit.name for unit, _findings, _images in parts])
    _deadline(f"{directory}/trial", commit_timeout)


def _route(socket):
    return f"route get {socket.remote[0]} from {socket.local[0]}\n"


def _loopback(socket):
    return socket.local[0] == "::1" or socket.local[0].startswith("127.")


def _unit_file(directory, name, text, wanted_by=None):
    write_file(f"{directory}/{name}", text, 0o644)
    if wanted_by:
        make_directory(f"{directory}/{wanted_by}.wants")
        os.symlink(f"../{name}", f"{directory}/{wanted_by}.wants/{name}")


def _reserve(directory, units):
    """Two oneshots before everything that could take what the applications had: their pids, their packets."""
    highest = max(thread for unit in units for process in unit.processes for thread in process.threads)
    _unit_file(
        directory,
        "kup-pids.service",
        f"""{_EARLY}
Description=Reserve the process ids of checkpointed applications
Before=systemd-journald.service systemd-udevd.service systemd-udev-trigger.service systemd-tmpfiles-setup-dev.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo {highest + 1} >/proc/sys/kernel/ns_last_pid; mkdir -p -m 700 {RUN}'
""",
        "sysinit.target",
    )
    _unit_file(
        directory,
        "kup-hold.service",
        f"""{_EARLY}
Description=Hold the packets of checkpointed applications
After=kup-pids.service
Before=network-pre.target systemd-networkd.service networking.service NetworkManager.service
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {RUNTIME}/hold
""",
        "sysinit.target",
    )


def restored_text(definition):
    """A unit's own text without what would order it late or start it afresh; sections and limits stay."""
    kept, dropping = [], False
    for line in definition.splitlines():
        continued = dropping and kept is not None
        dropping = (continued or bool(_DROPPED.match(line))) and line.endswith("\\")
        if continued or _DROPPED.match(line):
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def _restored_unit(directory, plan, unit, findings, images, timeout):
    pidfile = f"{RUN}/{unit.name}.pid"
    restore = " ".join(_criu.restore_command(images, findings, pidfile))
    text = f"""{restored_text(unit.definition())}
[Unit]
DefaultDependencies=no
Requires=kup-hold.service
After=kup-hold.service systemd-journald.socket
RequiresMountsFor={images} /var/lib /usr
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
ExecStartPre=+/bin/sh {RUNTIME}/await-network {plan}
ExecStart=+{restore}
"""
    _unit_file(directory, unit.name, text, "sysinit.target")
    # What is in the drop-ins is in the text above already: hide them.
    for drop_in in unit.properties["DropInPaths"].split():
        if os.path.basename(os.path.dirname(drop_in)) == f"{unit.name}.d":
            make_directory(f"{directory}/{unit.name}.d")
            os.symlink("/dev/null", f"{directory}/{unit.name}.d/{os.path.basename(drop_in)}")


def _opening(directory, names):
    listed = " ".join(names)
    _unit_file(
        directory,
        "kup-open.service",
        f"""{_EARLY}
Description=Let packets flow to restored applications
Requires={listed}
After={listed}
OnFailure=kup-restore-failed.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=nft delete table {_hold.TABLE}
ExecStartPost=systemctl --no-block start kup-arrived.service
""",
        "sysinit.target",
    )
    _unit_file(
        directory,
        "kup-arrived.service",
        f"""{_EARLY}
Description=Note that checkpointed applications run again
After=local-fs.target dbus.socket

[Service]
Type=oneshot
ExecStart=/bin/sh {RUNTIME}/arrived
""",
    )
    _unit_file(
        directory,
        "kup-restore-failed.service",
        f"""{_EARLY}
Description=Go back because checkpointed applications could not be restored

[Service]
Type=oneshot
ExecStart=/bin/sh {RUNTIME}/restore-failed
""",
    )


def _deadline(directory, commit_timeout):
    _unit_file(
        directory,
        "kup-deadline.timer",
        f"""{_EARLY}
Description=Time limit for the commit of a kernel update

[Timer]
OnActiveSec={commit_timeout}
AccuracySec=1s
""",
        "sysinit.target",
    )
    _unit_file(
        directory,
        "kup-deadline.service",
        f"""
[Unit]
Description=Go back to the old kernel: nobody committed the update in time

[Service]
Type=oneshot
ExecStart={RUNTIME}/node fallback "nobody committed within {commit_timeout} s"
""",
    )
