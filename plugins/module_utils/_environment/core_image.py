# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""CRIU's image of a thread (``core-TID.img``), as far as an update has to know or change it.

pycriu, which reads it as a whole, is not where every node's Python finds it, and takes longer in the freeze.
"""

from __future__ import annotations

import struct

from .._criu import protobuf
from .._errors import KupError

# criu/include/magic.h: IMG_COMMON_MAGIC and CORE_MAGIC.
_MAGICS = (0x54564319, 0x55053847)
_HEAD = struct.Struct("<III")  # the magics, and the size of the only message
# images/core.proto: core_entry.thread_core, thread_core_entry.pdeath_sig; core_entry.tc, task_core_entry.task_state.
_THREAD_CORE, _PDEATH_SIG = 5, 8
_TASK_CORE, _TASK_STATE = 3, 1
_STOPPED = 3  # criu/include/pid.h: TASK_STOPPED


class CoreImage:
    """``death_signal``: of the thread, 0 if it has none; ``place``: offset of its byte in ``content``; ``is_stopped``: whether the process
    was stopped by a signal, told in the image of its first thread.

    :raises KupError: ``content`` is no such image.
    """

    def __init__(self, content):
        self.death_signal = self.place = 0
        self.is_stopped = False
        try:
            *magics, size = _HEAD.unpack_from(content)
            if tuple(magics) != _MAGICS or size > len(content) - _HEAD.size:
                raise ValueError
            for number, start, end in protobuf.fields(content, _HEAD.size, _HEAD.size + size):
                if number == _THREAD_CORE:
                    self._read_thread_core(content, start, end)
                elif number == _TASK_CORE:
                    self._read_task_core(content, start, end)
        except (ValueError, IndexError, struct.error) as error:
            raise KupError("An image of a thread is not as CRIU writes it.") from error

    def _read_thread_core(self, content, start, end):
        for number, place, after in protobuf.fields(content, start, end):
            if number == _PDEATH_SIG:
                self.death_signal, self.place = protobuf.varint(content, place, after)[0], place

    def _read_task_core(self, content, start, end):
        for number, place, after in protobuf.fields(content, start, end):
            if number == _TASK_STATE:
                self.is_stopped = protobuf.varint(content, place, after)[0] == _STOPPED
