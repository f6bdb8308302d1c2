# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""CRIU's image of a thread (``core-TID.img``), as far as an update has to know or change it.

pycriu, which reads it as a whole, is not where every node's Python finds it, and takes longer in the freeze.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .._criu import protobuf
from .._errors import KupError

# criu/include/magic.h: IMG_COMMON_MAGIC and CORE_MAGIC.
_MAGICS = (0x54564319, 0x55053847)
_HEAD = struct.Struct("<III")  # the magics, and the size of the only message
# images/core.proto: core_entry.thread_core, thread_core_entry.pdeath_sig and signals_p; core_entry.tc, task_core_entry.task_state and
# signals_s; core_entry.thread_info.
_THREAD_CORE, _PDEATH_SIG, _OWN_SIGNALS = 5, 8, 9
_TASK_CORE, _TASK_STATE, _SIGNALS = 3, 1, 10
_THREAD_INFO = 2
_STOPPED = 3  # criu/include/pid.h: TASK_STOPPED
# images/core-x86.proto: thread_info_x86.gpregs, user_x86_regs_entry.
_REGISTERS = 2
_NAMES = {8: "r10", 11: "ax", 13: "dx", 14: "si", 15: "di", 16: "orig_ax", 17: "ip", 20: "sp", 28: "mode"}


@dataclass(frozen=True)
class Field:
    """A number in the image: ``value``, offset of the first of its bytes (``place``), and how many there are (``size``)."""

    value: int
    place: int
    size: int


class CoreImage:
    """``death_signal``: of the thread, 0 if it has none; ``place``: offset of its byte in ``content``; ``is_stopped``: whether the process
    was stopped by a signal; ``has_signals``: whether the thread has signals to take. The image of the first thread tells both for the process.

    :raises KupError: ``content`` is no such image.
    """

    def __init__(self, content):
        self.death_signal = self.place = 0
        self.is_stopped = self.has_signals = False
        self._content, self._registers = content, (0, 0)
        try:
            *magics, size = _HEAD.unpack_from(content)
            if tuple(magics) != _MAGICS or size > len(content) - _HEAD.size:
                raise ValueError
            for number, start, end in protobuf.fields(content, _HEAD.size, _HEAD.size + size):
                if number == _THREAD_CORE:
                    self._read_thread_core(content, start, end)
                elif number == _TASK_CORE:
                    self._read_task_core(content, start, end)
                elif number == _THREAD_INFO:
                    self._registers = (start, end)
        except (ValueError, IndexError, struct.error) as error:
            raise _broken() from error

    def _read_thread_core(self, content, start, end):
        for number, place, after in protobuf.fields(content, start, end):
            if number == _PDEATH_SIG:
                self.death_signal, self.place = protobuf.varint(content, place, after)[0], place
            elif number == _OWN_SIGNALS:
                self.has_signals |= after > place

    def _read_task_core(self, content, start, end):
        for number, place, after in protobuf.fields(content, start, end):
            if number == _TASK_STATE:
                self.is_stopped = protobuf.varint(content, place, after)[0] == _STOPPED
            elif number == _SIGNALS:
                self.has_signals |= after > place

    def registers(self):
        """Some of the thread's registers: dict name → `Field`.

        :raises KupError: the image is broken.
        """
        try:
            return {
                _NAMES[register]: Field(protobuf.varint(self._content, place, after)[0], place, after - place)
                for number, start, end in protobuf.fields(self._content, *self._registers)
                if number == _REGISTERS
                for register, place, after in protobuf.fields(self._content, start, end)
                if register in _NAMES
            }
        except (ValueError, IndexError) as error:
            raise _broken() from error


def _broken():
    return KupError("An image of a thread is not as CRIU writes it.")
