# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""nginx, by files that its configuration includes: the ``server`` lines of an upstream. Those of the node get ``down``.

Open source nginx has no interface for this but its files. A file is changed under a lock, tried (``nginx -t``), and put back if nginx
refuses it. After a reload the old workers keep their connections until they end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time

from .._errors import KupError
from .._files import read_text, write_file
from .._run import run
from .base import DRAINED, OUT, SERVING, Balancer

#: What tells our ``down`` from that of others, behind it.
MARK = "# drained by kup"
# One server on a line, and perhaps a comment: what follows on the same line would be lost behind the mark.
_LINE = re.compile(r"(?P<head>\s*server\s+)(?P<address>[^\s;#]+)(?P<options>[^;#]*);\s*(?P<comment>#.*)?")
_MOST = 1 << 20  # bytes of a file
_PATIENCE = 30  # seconds for the lock


class Nginx(Balancer):
    """The lines with the ``addresses``, as they are written there, in all ``files``. A place is ``FILE:ADDRESS``.

    :param command: the program with options that all calls need, such as ``-c FILE``.
    """

    def __init__(self, files, addresses, command):
        self._files = files
        self._addresses = addresses
        self._command = command
        if not files or not addresses:
            raise KupError(
                "kup_drain_nginx_files or kup_drain_nginx_servers is empty, expected the files with the node's lines, and its addresses."
            )

    def look(self):
        found = {}
        for path in self._files:
            states = line_states(_read(path))
            found.update({f"{path}:{each}": states[each] for each in self._addresses if each in states})
        if not found:
            raise KupError(
                f"{', '.join(self._files)} has no line 'server {self._addresses[0]}', expected one for the node; "
                "correct kup_drain_nginx_servers."
            )
        return found

    def drain(self, places):
        self._change(places, True)

    def undrain(self, places):
        self._change(places, False)

    def _change(self, places, down):
        wanted = {path: [each for each in self._addresses if f"{path}:{each}" in places] for path in self._files}
        with contextlib.ExitStack() as locks:
            # All in one order, so that no two runs wait for each other.
            for directory in sorted({os.path.dirname(path) for path in wanted}):
                locks.enter_context(_locked(directory))
            before = {path: _read(path) for path, addresses in wanted.items() if addresses}
            try:
                for path, text in before.items():
                    _replace(path, changed(text, wanted[path], down))
                self._reload()
            except (KupError, OSError):
                for path, text in before.items():
                    _replace(path, text)
                raise

    def _reload(self):
        # Also where no line has changed: a run may have been killed between the file and the reload.
        for words in (["-t"], ["-s", "reload"]):
            done = run([*self._command, *words], check=False)
            if done.returncode:
                lines = done.stderr.strip().splitlines()
                said = next((line for line in lines if "[emerg]" in line), " ".join(lines[:1]) or "no message")
                raise KupError(f"'{' '.join([*self._command, *words])}' ended with {done.returncode}: {said}")


def line_states(text):
    """Dict address → state, from the ``server`` lines in ``text``. Of an address with several lines all have to be in one state."""
    found = {}
    for match in map(_LINE.fullmatch, text.split("\n")):
        if match:
            found.setdefault(match["address"], set()).add(_state(match))
    return {address: states.pop() if len(states) == 1 else OUT for address, states in found.items()}


def _state(match):
    options = match["options"].split()
    if "down" not in options:
        return SERVING
    return DRAINED if options[-1] == "down" and (match["comment"] or "").startswith(MARK) else OUT


def changed(text, addresses, down):
    """``text`` with the lines of ``addresses`` down, or up again. Lines that others have made so stay."""

    def line(old):
        match = _LINE.fullmatch(old)
        if not match or match["address"] not in addresses or _state(match) != (SERVING if down else DRAINED):
            return old
        before, comment = match["head"] + match["address"], match["comment"] or ""
        if down:
            return f"{before}{match['options'].rstrip()} down; {f'{MARK} {comment}'.rstrip()}"
        options = match["options"].rstrip().removesuffix("down").rstrip()
        return f"{before}{options}; {comment[len(MARK) :].strip()}".rstrip()

    return "\n".join(map(line, text.split("\n")))


def _read(path):
    try:
        if os.path.getsize(path) > _MOST:
            raise KupError(f"{path} is longer than {_MOST} bytes, expected a file with the servers of an upstream.")
    except FileNotFoundError as error:
        raise KupError(
            f"{path} is not there, expected a file with lines 'server ADDRESS;'; correct kup_drain_nginx_files."
        ) from error
    return read_text(path)


def _replace(path, text):
    """Replace a file, or what a link leads to; its owner and its rights stay."""
    path = os.path.realpath(path)
    about = os.stat(path)
    write_file(path, text + "\n", stat.S_IMODE(about.st_mode))
    os.chown(path, about.st_uid, about.st_gid)


@contextlib.contextmanager
def _locked(directory):
    """Nodes of one batch change the same file at the same time."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = time.monotonic() + _PATIENCE
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > deadline:
                raise KupError(f"{directory} is locked by others for more than {_PATIENCE} s.")
            time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)
