# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""keepalived on the node itself, by a file that its configuration tracks (``track_file``).

The number in the file times the ``weight`` of the tracking instance is added to its priority, so another node takes the addresses over.
keepalived sees a change of the file at once.
"""

from __future__ import annotations

import json
import os
import time

from .._errors import KupError
from .._files import read_text, write_file
from .._run import run
from .base import DRAINED, OUT, SERVING, Balancer

_MOST = 100  # bytes of the file
_PATIENCE = 15  # seconds; an advertisement is sent each second by default
_PAUSE = 0.2


class Keepalived(Balancer):
    """A place is a file. Without a drain it has the number 0.

    :param files: which, absolute paths.
    :param value: the number that drains.
    :param addresses: what must have left the node afterwards.
    """

    def __init__(self, files, value, addresses):
        if not files or not value:
            raise KupError(
                f"kup_drain_keepalived_files is {files!r} and kup_drain_keepalived_value is {value!r}, expected at least one file, "
                "and a number that is not 0."
            )
        self._files = files
        self._value = value
        self._addresses = addresses

    def look(self):
        return {path: self._state(path) for path in self._files}

    def drain(self, places):
        self._write(places, self._value)
        deadline = time.monotonic() + _PATIENCE
        while left := self._present():
            if time.monotonic() > deadline:
                raise KupError(
                    f"The address {left[0]} is still on the node {_PATIENCE} s after keepalived was told to give it up, expected it "
                    f"on another; look at track_file and weight of its instance, and whether the other node may preempt."
                )
            time.sleep(_PAUSE)

    def undrain(self, places):
        self._write(places, 0)

    def _write(self, places, number):
        for path in places:
            # It is keepalived's: who may read it stays so.
            write_file(path, f"{number}\n", os.stat(path).st_mode & 0o777)

    def _state(self, path):
        try:
            long = os.path.getsize(path) > _MOST or os.path.islink(path)
        except FileNotFoundError as error:
            raise KupError(
                f"{path} is not there, expected the file of a track_file of keepalived with the number 0; correct kup_drain_keepalived_files."
            ) from error
        text = "" if long else read_text(path).strip()
        try:
            number = int(text or "0")
        except ValueError:
            number = None
        if long or number is None:
            raise KupError(f"{path} has no number, expected the file of a track_file of keepalived with the number 0.")
        return {0: SERVING, self._value: DRAINED}.get(number, OUT)

    def _present(self):
        """Those of the addresses that are on the node."""
        if not self._addresses:
            return []
        interfaces = json.loads(run(["ip", "-json", "address", "show"]).stdout)
        here = {each.get("local") for interface in interfaces for each in interface.get("addr_info", [])}
        return [address for address in self._addresses if address in here]
