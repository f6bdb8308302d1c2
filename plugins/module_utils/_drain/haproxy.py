# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""HAProxy, by its admin socket.

A server in the state ``drain`` gets no new sessions, but for those that are bound to it (persistence). Open ones go on. The state is
lost when HAProxy is reloaded without ``load-server-state-from-file``.
"""

from __future__ import annotations

import csv
import re
import socket

from .._errors import KupError
from .base import DRAINED, OUT, SERVING, Balancer

# Bits of srv_admin_state (include/haproxy/server-t.h, SRV_ADMF_*); any other is maintenance, or inherited.
_FORCED_DRAIN = 0x08
_MOST = 16 << 20  # bytes of an answer
_PATIENCE = 10  # seconds
_SERVER = re.compile(r"[\w.:-]+/[\w.:-]+")


class HAProxy(Balancer):
    """The servers that are named as ``BACKEND/SERVER``; without any, those with the name ``server`` in all backends.

    :param path: the socket, with the level admin.
    """

    def __init__(self, path, servers, server):
        self._path = path
        self._servers = servers
        self._server = server
        for each in servers:
            if not _SERVER.fullmatch(each):
                raise KupError(f"kup_drain_haproxy_servers has the element {each!r}, expected BACKEND/SERVER.")

    def look(self):
        states = server_states(self._ask("show servers state"))
        wanted = self._servers or [name for name in states if name.partition("/")[2] == self._server]
        missing = [name for name in wanted if name not in states]
        if missing or not wanted:
            raise KupError(
                f"HAProxy at {self._path} has no server {missing[0] if missing else self._server}, expected one for the node; "
                "correct kup_drain_haproxy_servers."
            )
        return {name: states[name] for name in wanted}

    def drain(self, places):
        self._set(places, "drain")

    def undrain(self, places):
        self._set(places, "ready")

    def sessions(self, places):
        return open_sessions(self._ask("show stat"), places)

    def _set(self, places, state):
        for place in places:
            said = self._ask(f"set server {place} state {state}").strip()
            if said:
                raise KupError(f"HAProxy at {self._path} refused the state {state} for {place}: {said.splitlines()[0]}")

    def _ask(self, command):
        try:
            return ask(self._path, command)
        except OSError as error:
            raise KupError(
                f"HAProxy's socket {self._path} does not answer: {error}; correct kup_drain_haproxy_socket or kup_drain_become."
            ) from error


def ask(path, command):
    """What HAProxy answers to ``command``.

    :raises OSError: it does not, within ten seconds.
    :raises KupError: the answer has no end, or the socket has not the level admin.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        connection.connect(path)
        connection.sendall(f"{command}\n".encode())
        parts, size = [], 0
        while part := connection.recv(1 << 16):
            parts.append(part)
            size += len(part)
            if size > _MOST:
                raise KupError(f"HAProxy's answer to {command!r} at {path} is longer than {_MOST} bytes.")
    text = b"".join(parts).decode("utf-8", "replace")
    if text.startswith(("Permission denied", "Unknown command")):
        raise KupError(f"HAProxy at {path} does not allow {command!r}; its socket needs 'level admin'.")
    return text


def server_states(text):
    """Dict ``BACKEND/SERVER`` → state, from the answer to ``show servers state``.

    :raises KupError: it is none.
    """
    header, *rows = [line for line in text.splitlines() if line.strip() not in ("", "1")] or [""]
    names = header.lstrip("# ").split()
    try:
        columns = [names.index(name) for name in ("be_name", "srv_name", "srv_admin_state")]
        found = [[row.split()[column] for column in columns] for row in rows]
        return {f"{backend}/{server}": _state(int(bits)) for backend, server, bits in found}
    except (ValueError, IndexError) as error:
        raise KupError(
            f"HAProxy's answer to 'show servers state' begins with {header[:80]!r}, expected a table."
        ) from error


def _state(bits):
    if not bits:
        return SERVING
    return DRAINED if bits == _FORCED_DRAIN else OUT


def open_sessions(text, places):
    """Sessions that are open at the servers ``places``, from the answer to ``show stat`` (CSV)."""
    rows = csv.DictReader(text.lstrip("# ").splitlines())
    return sum(int(row["scur"] or 0) for row in rows if f"{row['pxname']}/{row['svname']}" in places)
