# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Containers that run in a unit.

An engine has one program for each container outside of it, whose arguments have the container's id and name (podman: conmon; docker and
containerd: a shim), and a control group with the id in its name. The engine itself is not asked, and of processes inside only that name is read.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass

from . import processes

# More than an engine passes; a program may have megabytes.
_ARGUMENTS_MAX = 1 << 16
# libpod/define/config.go of podman; docker's names are of the same kind. Nothing limits their length.
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}")
_ID = re.compile(r"[0-9a-f]{64}")
_SHORT = 12  # of an id, as engines print it
_DELETED = " (deleted)"

# The first of a path: a container may make others below its own.
_GROUP = re.compile(r"/(libpod|docker|nerdctl|cri-containerd|crio)-(?:payload-)?([0-9a-f]{64})(?:\.scope)?(?=/|$)")
_ENGINES = {"libpod": "podman", "crio": "CRI-O", "cri-containerd": "containerd"}

# Beside each container: program → engine, the options before the id and before the name.
_MONITORS = {"conmon": ("podman", "-c", "-n"), "containerd-shim-runc-v2": ("containerd", "-id", "")}
# What a unit may have as its main process, with the container elsewhere; and the commands that stay as long as the container.
_CLIENTS = ("podman", "docker", "nerdctl")
_STAYING = frozenset({"run", "start", "exec", "attach", "wait"})


@dataclass(frozen=True)
class Container:
    """A container of an ``engine``: its ``id`` and ``name``, each empty where it is not known."""

    engine: str
    id: str = ""
    name: str = ""

    @property
    def text(self):
        """What an operator calls it."""
        known = self.name or self.id[:_SHORT]
        return f"container {known} ({self.engine})" if known else f"a container ({self.engine})"


def of(unit):
    """`Container`s of a `units.Unit`, each once."""
    host = processes.Process(1).namespace("pid")
    outside = [(_program(one), one) for one in unit.processes if one.namespace("pid") == host]
    seen = [_monitored(program, one) for program, one in outside if program in _MONITORS]
    seen += [_grouped(one.cgroup[len(unit.cgroup) :]) for one in unit.processes]
    found = {}
    for each in seen:
        if each.id:
            found.setdefault(each.id, each)
    return list(found.values()) or [each for program, one in outside for each in _started(program, one)]


def _program(one):
    """Name of the file that a process runs; empty where it has ended."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"{one.path}/exe")
        return os.path.basename(path[: -len(_DELETED)] if path.endswith(_DELETED) else path)
    return ""


def _arguments(one):
    with contextlib.suppress(OSError), open(f"{one.path}/cmdline", "rb") as stream:
        return stream.read(_ARGUMENTS_MAX).decode("utf-8", "replace").split("\0")
    return []


def _behind(option, words, pattern):
    """What follows an ``option``, if it is of the ``pattern``; else empty."""
    following = (words[place + 1] for place, word in enumerate(words[:-1]) if word == option)
    return next((word for word in following if pattern.fullmatch(word)), "")


def _monitored(program, one):
    """The `Container` of which a process is the monitor; without an id where it is of none."""
    engine, before_id, before_name = _MONITORS[program]
    words = _arguments(one)
    return Container(engine, _behind(before_id, words, _ID), _behind(before_name, words, _NAME))


def _grouped(path):
    """The `Container` of a control group below that of a unit; without an id where it is of none."""
    match = _GROUP.search(path)
    return Container(_ENGINES.get(match.group(1), match.group(1)), match.group(2)) if match else Container("")


def _started(program, one):
    """Yield the `Container` that a client of an engine waits for."""
    words = _arguments(one) if program in _CLIENTS else []
    if _STAYING.intersection(words[1:]):
        split = [part for word in words for part in (word.split("=", 1) if word.startswith("--name=") else [word])]
        yield Container(program, name=_behind("--name", split, _NAME))
