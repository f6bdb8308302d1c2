# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The program CRIU, as it is started for one unit: on the node, or in the unit's own mount namespace.

A path in a unit's namespace leads to what the unit has there. So nothing is executed there by its path: the dynamic loader, CRIU and its
libraries are opened on the node, the namespace is opened once and its owner is checked, and CRIU is started in it by these descriptors.
What CRIU itself starts are the scripts in `INSIDE`, which go back to the node's namespace first (files/node/switch/from-inside.in).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct

from .._blocker import Blocked, about
from .._errors import KupError
from .._paths import PLUG_INS, RUNTIME
from .._run import run
from . import view, view_checks

#: Where CRIU finds the programs that it starts in a unit's namespace, and all that are there: name → what it stands for.
INSIDE = RUNTIME + "/inside"
PROGRAMS = {
    "action-script": RUNTIME + "/switch/action-script",
    "apparmor_parser": "/usr/sbin/apparmor_parser",
}
# The way from a unit's namespace to the node's: a process that is there as long as the node runs.
_NODE = "/proc/1"

_KERNDAT = "/run/criu.kdat"  # what CRIU has found out of the running kernel
_PT_INTERP = 3  # elf.h


class Program:
    """CRIU on the node, for a unit that has no mount namespace of its own.

    ``words``: the first of its command line, ``options``: more words for after the verb, ``descriptors``: to be inherited,
    ``hook``: the action script, ``environment``: all variables.

    :param plug_ins: the directory of its plug-ins; empty: CRIU's own.
    """

    def __init__(self, plug_ins=""):
        self.words, self.options, self.descriptors = ["criu"], [], []
        if plug_ins:
            self.options += ["--libdir", plug_ins]
        self.hook = PROGRAMS["action-script"]
        self.environment = dict(os.environ, LANG="C")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Close the descriptors; a CRIU that was started with them goes on."""


class ProgramInside(Program):
    """CRIU in the mount namespace of an active `Unit`.

    :raises Blocked: the namespace belongs to another user namespace.
    :raises KupError: a program is missing.
    """

    def __init__(self, unit, plug_ins=""):
        super().__init__()
        criu = _found("criu")
        if not os.path.exists(_KERNDAT):
            # On the node: a unit may not see /proc/sys (ProcSubset=pid), and in its namespace CRIU finds no programs to try.
            run([criu, "check"], check=False)
        loader = interpreter(criu)
        library = libraries(loader)
        with contextlib.ExitStack() as opened:
            namespace = self._open(opened, f"{unit.main.path}/ns/mnt", os.O_RDONLY)
            if not view.is_owned(namespace):
                raise Blocked(
                    about(view_checks.mount_namespace_owner(view.View(owned=False, root="/")), unit=unit.name)
                )
            uts = f"{unit.main.path}/ns/uts"
            # CRIU leaves alone what it shares with the tree: systemd makes this namespace again, too (ProtectHostname=).
            host_name = [] if os.path.samefile(uts, "/proc/self/ns/uts") else [self._open(opened, uts, os.O_RDONLY)]
            places = [
                self._open(opened, path, os.O_PATH) for path in (loader, library, criu, INSIDE, plug_ins or INSIDE)
            ]
            self._opened = opened.pop_all()
        there = [f"/proc/self/fd/{number}" for number in (namespace, *places)]
        self.words = [
            _found("nsenter"),
            f"--mount={there[0]}",
            *(f"--uts=/proc/self/fd/{number}" for number in host_name),
        ]
        self.words += ["--", *_loaded(*there[1:4])]
        self.options = _options(there[5])
        self.hook = from_inside(f"{INSIDE}/action-script")
        # The scripts' shell has no other word for where its library is.
        self.environment.update(PATH=from_inside(INSIDE), LD_LIBRARY_PATH=from_inside(library))

    def _open(self, opened, path, flags):
        number = os.open(path, flags | os.O_CLOEXEC)
        opened.callback(os.close, number)
        self.descriptors.append(number)
        return number

    def close(self):
        self._opened.close()


def of(unit, ends=False):
    """The `Program` for an active `Unit`; to be closed.

    :param ends: whether it lets unix connections through that lead out of the unit, and notes them (`_update.pairs`).
    """
    plug_ins = PLUG_INS if ends else ""
    return ProgramInside(unit, plug_ins) if unit.own_mounts else Program(plug_ins)


def restore_inside():
    """The first words of a restore in a unit's namespace, up to the verb's options. No application runs there yet."""
    criu = _found("criu")
    loader = interpreter(criu)
    program = _loaded(*(from_inside(path) for path in (loader, libraries(loader), criu)))
    # Its plug-ins are in a directory that has none.
    return [*program, "restore", *_options(from_inside(INSIDE))]


def _loaded(loader, library, criu):
    """Words that have this dynamic loader start this CRIU."""
    return [loader, "--inhibit-cache", "--argv0", "criu", "--library-path", library, criu]


def _options(plug_ins):
    return ["--no-default-config", "--libdir", plug_ins]


def scripts(template):
    """The scripts that CRIU starts in a unit's namespace: dict path → text.

    :param template: text of files/node/switch/from-inside.in, which lacks the first line.
    """
    shell = os.path.realpath("/bin/sh")
    loader = interpreter(shell)
    values = {
        "LOADER": from_inside(loader),
        "LIBRARIES": from_inside(libraries(loader)),
        "SHELL": from_inside(shell),
        "NODE": _NODE,
    }
    values["NSENTER"] = from_inside("/usr/bin/nsenter")
    template = f"#!@LOADER@ @SHELL@\n{template}"
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return {f"{INSIDE}/{name}": template.replace("@PROGRAM@", path) for name, path in PROGRAMS.items()}


def from_inside(path):
    """The way to a path of the node from a unit's namespace."""
    # Without symbolic links: a link to an absolute path would lead back into the unit's own view.
    return f"{_NODE}/root{os.path.realpath(path)}"


def libraries(loader):
    """The directory where the libraries lie that this dynamic loader loads: its own."""
    return os.path.dirname(os.path.realpath(loader))


def interpreter(program):
    """Path of the dynamic loader that the ELF file ``program`` asks for.

    :raises KupError: it asks for none.
    """
    with open(program, "rb") as stream:
        head = stream.read(64)
        if head[:5] == b"\x7fELF\x02":
            order = "<" if head[5] == 1 else ">"
            (start,) = struct.unpack_from(f"{order}Q", head, 32)
            size, count = struct.unpack_from(f"{order}HH", head, 54)
            for number in range(count):
                stream.seek(start + number * size)
                kind, _flags, offset, _address, _physical, length = struct.unpack(f"{order}IIQQQQ", stream.read(40))
                if kind == _PT_INTERP:
                    stream.seek(offset)
                    return stream.read(length).rstrip(b"\0").decode()
    raise KupError(f"{program} is no 64-bit ELF program with a dynamic loader; install Debian's package of it.")


def _found(name):
    path = shutil.which(name)
    if not path:
        raise KupError(f"{name} is not installed on this node; install the package that brings it.")
    return os.path.realpath(path)
