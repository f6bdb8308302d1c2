# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The page daemon (files/paged): CRIU's page server, and the program that calls the kernel module."""

from __future__ import annotations

import json
import select
import socket
import subprocess

from .._errors import KupError
from .._paths import RUNTIME
from .._run import is_program, run

PROGRAM = RUNTIME + "/paged"

_ENDING = 60  # seconds that it may take to make durable what it has received
# CRIU may send so many bytes before it has to wait: with Linux's own 200 KiB the two take turns, each waking the other.
_AHEAD = 4 << 20
_SO_SNDBUFFORCE = 32  # not in Python's module: beyond net.core.wmem_max, for root


def runs():
    """Whether the page daemon is installed, for this machine."""
    return is_program(PROGRAM)


def ask(*words):
    """Run ``paged WORDS``; returns what it prints, a dict.

    :raises KupError: it failed.
    """
    return json.loads(run([PROGRAM, *words]).stdout)


class Server:
    """A running ``paged WORDS --socket-fd N``, CRIU's page server for one dump or pre-dump.

    ``socket``: descriptor of CRIU's end of the connection; ``failed``: it has failed, and CRIU was not the cause.
    """

    def __init__(self, words):
        self.failed = False
        self._theirs, ours = socket.socketpair()
        self._theirs.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _AHEAD)
        with ours:
            self._process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                [PROGRAM, *words, "--socket-fd", str(ours.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[ours.fileno()],
                encoding="utf-8",
                errors="replace",
            )
        self.socket = self._theirs.fileno()

    @property
    def options(self):
        """Words of CRIU's command line that lead its pages here."""
        return ("--page-server", "--ps-socket", str(self.socket))

    def finish(self, word=""):
        """Wait for the end of the program; returns what it prints, a dict.

        :param word: for its standard input.
        :raises KupError: it failed or takes too long.
        """
        gone = self._gone()
        self._theirs.close()  # with CRIU's own: the end of the stream
        try:
            said, complaint = self._process.communicate(word, timeout=_ENDING)
        except subprocess.TimeoutExpired as error:
            self.end()
            raise KupError(f"The page daemon did not end within {_ENDING} s of CRIU.") from error
        if self._process.returncode != 0:
            self.failed = gone
            last = (complaint.strip().splitlines() or [f"exit code {self._process.returncode}"])[-1]
            raise KupError(f"The page daemon has failed: {last}")
        return json.loads(said)

    def _gone(self):
        """Whether it has left the stream. CRIU cannot have made it leave: this side is open as well."""
        if self._theirs.fileno() < 0:
            return False
        poller = select.poll()
        poller.register(self._theirs, select.POLLRDHUP)
        return bool(poller.poll(0))

    def end(self):
        """Kill the program if it still runs."""
        self._theirs.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def with_cause(server, error):
    """An error like this `KupError`, with the page daemon's complaint: either can be the cause of the other."""
    complaint = ""
    try:
        server.finish()
    except KupError as cause:
        complaint = f" ({cause})"
    return type(error)(f"{error}{complaint}")
