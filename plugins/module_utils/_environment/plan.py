# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The plans of the environment program (files/environment/plan.h describes their format).

A plan is a list of steps, which early in the next boot put in place what the applications have around them. A person can read it:
``boot/N/environment/*.plan``. Applications choose the paths, names and contents in it; none of them is more than a word there.
"""

from __future__ import annotations

import os
import time

from .._files import make_directory

#: The unit of a step that the whole node needs.
NODE = "-"

#: Of every plan.
FIRST_LINE = b"kup-environment 1\n"


def step(kind, unit, words, required=False):
    """One line of a plan, bytes.

    :param kind: e.g. ``sysctl``; see files/environment/plan.h for the ``words`` of each.
    :param unit: that needs it, or `NODE`.
    :param words: each a text, bytes or a number.
    :param required: whether the unit (or the node) cannot be restored without it.
    """
    need = "required" if required else "optional"
    return b" ".join(encode(word) for word in (kind, need, unit, *words)) + b"\n"


def encode(word):
    """A word of a step as a plan has it, bytes."""
    plain = word if isinstance(word, bytes) else os.fsencode(str(word))
    return b"".join(b"%c" % byte if 0x20 < byte < 0x7F and byte != 0x25 else b"%%%02X" % byte for byte in plain) or b"%"


class Plans:
    """The folder ``boot/N/environment``: plans, carried out in the order of their names, and contents of files."""

    def __init__(self, directory):
        self._directory = directory
        make_directory(directory)
        self._contents = 0

    def put(self, name, steps):
        """Write the plan ``name``, of steps as `step` makes them."""
        _write(f"{self._directory}/{name}.plan", FIRST_LINE + b"".join(steps))

    def add_content(self, content):
        """Keep the content of a file, bytes; returns the word that a step names it by."""
        make_directory(f"{self._directory}/contents")
        self._contents += 1
        _write(f"{self._directory}/contents/{self._contents}", content)
        return str(self._contents)


def text_steps(plans, path, text):
    """Steps that put a file of the node's with this ``text`` in place, and its directory."""
    content = plans.add_content(os.fsencode(text))
    return [
        step("directory", NODE, (os.path.dirname(path), "755", 0, 0)),
        step("file", NODE, (path, "644", 0, 0, int(time.time()), 0, content)),
    ]


def _write(path, content):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(content)
