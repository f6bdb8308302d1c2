# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""CRIU: its version, what it says of the running kernel, and the command lines."""

from __future__ import annotations

import os
import re

from .._errors import KupError, printable
from .._files import read_lines
from .._run import run
from . import program, segments, sessions

#: Mark of the packets that CRIU itself sends for a locked connection (soccr/soccr.h, SOCCR_MARK).
SOCKET_MARK = 0xC114
#: Size of a deleted file whose content a dump takes along, MiB. It does so while the application stands.
LARGEST_DELETED_MIB = 64


def numbers(version):
    """Leading numbers of a version: ``6.12.9-cloud-amd64`` → (6, 12, 9).

    :raises KupError: the text does not begin with two numbers.
    """
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if not match:
        raise KupError(f"{version!r} is no version, expected something like '6.12.9'.")
    return tuple(int(part or 0) for part in match.groups())


def version():
    """Version of the installed CRIU as text, e.g. ``4.2.1``.

    :raises KupError: CRIU is not installed.
    """
    said = run(["criu", "--version"]).stdout
    match = re.search(r"Version:\s*(\S+)", said)
    if not match:
        raise KupError(f"'criu --version' said {said[:60]!r}, expected 'Version: N.N'.")
    return match.group(1)


def processor_flags():
    """The set of features that the kernel names for the first processor, e.g. ``amx_tile``; empty where it names none."""
    rows = (row.partition(":") for row in read_lines("/proc/cpuinfo"))
    return next((frozenset(value.split()) for name, _colon, value in rows if name.strip() == "flags"), frozenset())


def check(feature=None):
    """What ``criu check`` says is missing in the running kernel; empty if nothing is.

    :param feature: one of those that ``criu check --feature list`` names; None: what every dump needs.
    """
    words = ["criu", "check", *(["--feature", feature] if feature else [])]
    done = run(words, check=False)
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1] if said else "no message"


def _begin(program, verb, pid, directory):
    return [*program.words, verb, *program.options, "--tree", str(pid), "--images-dir", directory]


def pre_dump_command(pid, directory, program):
    """Command line that copies the memory of the tree of ``pid`` and begins to track what is written from then on.

    The tree is frozen for a moment and serves while the pages are written.

    :param program: the `program.Program` of the unit.
    """
    command = _begin(program, "pre-dump", pid, directory)
    return [*command, "--log-file", "pre-dump.log", "-v2", "--track-mem"]


def dump_command(pid, directory, findings, program):
    """Command line that writes the tree of ``pid`` to ``directory`` and lets it run on unless the node is gone.

    The tree stays frozen while the program's hook runs at CRIU's stage post-dump; a hook that fails makes CRIU let it go on.

    :param findings: `examination.Findings` of the unit.
    :param program: the `program.Program` of the unit.
    """
    command = segments.DUMP_INSIDE if findings.segments else []
    command = [*command, *_begin(program, "dump", pid, directory)]
    command += ["--log-file", "dump.log", "-v2"]
    command += ["--leave-running", "--tcp-established", "--network-lock", findings.lock, "--manage-cgroups=ignore"]
    command += ["--action-script", program.hook, "--ghost-limit", f"{LARGEST_DELETED_MIB}M", "--link-remap"]
    for inode in findings.journal.values():
        command += ["--external", f"unix[{inode}]"]
    for name in findings.external_files:
        command += ["--external", name]
    return command + _both(findings)


def restore_command(directory, findings, pidfile, keeps_connections, own_mounts):
    """Command line that brings the tree back, as a detached child that is stopped, in the control group it is started in.

    :param keeps_connections: TCP connections live on; else they are closed.
    :param own_mounts: the unit has a mount namespace of its own, and the command is run in the one that the next boot makes for it.

    Descriptor 0 must be /dev/null and descriptor 1 a stream to the journal, as systemd gives them to a service.
    """
    command = ["/usr/sbin/criu", "restore"]
    if own_mounts:
        command = program.restore_inside()
        directory, pidfile = program.from_inside(directory), program.from_inside(pidfile)
    command = [*sessions.restored_in(findings.session, own_mounts), *command]
    command += ["--images-dir", directory, "--log-file", "restore.log", "-v2"]
    # Nothing may run before all units are whole: files/node/boot/let-go.sh lets them go on.
    command += ["--restore-detached", "--leave-stopped", "--pidfile", pidfile, "--manage-cgroups=ignore"]
    command += ["--tcp-established" if keeps_connections else "--tcp-close"]
    if findings.segments:
        command += segments.JOIN
    for inode in sorted(set(findings.journal.values())):
        command += ["--inherit-fd", f"fd[1]:socket:[{inode}]"]
    for name in findings.external_files:
        command += ["--inherit-fd", f"fd[0]:{name}"]
    return command + _both(findings)


def _both(findings):
    # Locks in any case: one may be taken before the freeze, and that of an open file need not tell whose it is (OFD, flock).
    options = {"--file-locks": True, "--ext-unix-sk": findings.datagrams, "--shell-job": findings.session}
    return [option for option, needed in options.items() if needed]


# CRIU takes the connection to its page server for TCP, complains of what a unix socket cannot do, and goes on (criu/util.c).
_HARMLESS = "TCP_CORK"


def complaint(directory, verb, code):
    """Why a CRIU that ended with ``code`` failed, by its log in ``directory``: the end of a sentence."""
    log = f"{directory}/{verb}.log"
    # Later errors are consequences of the first.
    errors = [printable(line) for line in read_lines(log) if "Error" in line and _HARMLESS not in line]
    if not errors and os.statvfs(directory).f_bavail == 0:  # not even for its log
        return f"no room is left in {directory}"
    return errors[0] if errors else f"no error in {log}, exit code {code}"
