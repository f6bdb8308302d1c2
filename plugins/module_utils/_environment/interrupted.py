# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System calls that a freeze interrupts and the kernel would go on with: poll(2), nanosleep(2), clock_nanosleep(2), futex(2) with a time limit.

How far such a call has come is only in the kernel. CRIU has it fail in the restored thread (EINTR), which no kernel does where no handler of a
signal has run, and which many programs take for an error. So the thread's image is changed, and the call begins anew. A sleep has the rest of its
time where the program wanted to be told the rest: the kernel has written it there. Another time limit that is relative begins anew as well.

Which call it was is in the image, unless another freeze had interrupted it before: then it is restart_syscall(2), and where in the kernel the
thread waits tells which one goes on. That is looked up before the freeze, because a frozen thread waits for the thaw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .core_image import CoreImage

# Numbers of x86-64: arch/x86/entry/syscalls/syscall_64.tbl.
_POLL, _NANOSLEEP, _FUTEX, _RESTART, _CLOCK_NANOSLEEP = 7, 35, 202, 219, 230
_AGAIN = frozenset({_POLL, _NANOSLEEP, _FUTEX, _CLOCK_NANOSLEEP})
# Functions by which the kernel goes on: fs/select.c, kernel/futex/waitwake.c, kernel/time/alarmtimer.c.
_GOING_ON = {"do_restart_poll": _POLL, "futex_wait_restart": _FUTEX, "alarm_timer_nsleep_restart": _CLOCK_NANOSLEEP}
# A thread that sleeps on (kernel/time/hrtimer.c) is in functions of the scheduler alone, which no stack shows: only the way into the kernel is left.
_ENTRY = re.compile(r"do_syscall_64|x64_sys_call|\w+_sys_restart_syscall|entry_SYSCALL_64\w*")
# The first argument is a clock for one of both calls, and an address for the other.
_CLOCKS = 16
_FUNCTION = re.compile(r"^\[<\w+>\] (\w+)", re.MULTILINE)

# compel/arch/x86/src/lib/infect.c, compel_get_task_regs()
_TOLD = re.compile(rb"Will restore (\d+) with interrupted system call$", re.MULTILINE)
_EINTR = (1 << 64) - 4
_COMPAT = 2  # images/core-x86.proto: a call of another table of numbers
_LENGTH = 2  # bytes of the instruction `syscall`


@dataclass(frozen=True)
class Call:
    """``number`` of the system call that a thread is in, its stack pointer (``stack``), and the address behind the call (``place``)."""

    number: int
    stack: int
    place: int


def note(processes):
    """The calls of these `Process`es' threads that would begin anew: dict thread → `Call`."""
    found = {}
    for process in processes:
        for thread in process.threads:
            call = _call(f"{process.path}/task/{thread}")
            if call is not None:
                found[thread] = call
    return found


def _call(path):
    words = _read(f"{path}/syscall").split()
    # Nine words of a thread that waits in a call; "running", or -1 and two, of others.
    if len(words) != 9:
        return None
    number, first = int(words[0]), int(words[1], 16)
    if number == _RESTART:
        number = _going_on(_read(f"{path}/stack"), first)
    return Call(number, int(words[7], 16), int(words[8], 16)) if number in _AGAIN else None


def _going_on(stack, first):
    """Number of the call that goes on in a kernel's stack, None for an unknown one.

    :param first: its first argument.
    """
    functions = _FUNCTION.findall(stack)
    if functions and all(map(_ENTRY.fullmatch, functions)):
        return _CLOCK_NANOSLEEP if first < _CLOCKS else _NANOSLEEP
    return next((_GOING_ON[function] for function in functions if function in _GOING_ON), None)


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read()
    except OSError:  # it has ended, or this kernel does not tell
        return ""


def begin_anew(processes, images, noted):
    """Have interrupted calls begin anew, in the complete images of frozen `Process`es.

    :param images: the directory with CRIU's images.
    :param noted: what `note` has returned before.
    :raises KupError: an image is broken.
    """
    with open(f"{images}/dump.log", "rb") as stream:
        told = {int(number) for number in _TOLD.findall(stream.read())}
    for process in processes if told else ():
        threads = told.intersection(process.threads)
        # A handler may be about to run: then the call has to fail.
        if threads and not _image(images, process.pid).has_signals:
            for thread in sorted(threads):
                _begin_anew(f"{images}/core-{thread}.img", noted.get(thread))


def _image(images, thread):
    with open(f"{images}/core-{thread}.img", "rb") as stream:
        return CoreImage(stream.read())


def _begin_anew(path, noted):
    with open(path, "r+b") as stream:
        image = CoreImage(stream.read())
        registers = image.registers()
        number = _number(registers, noted)
        if number is None or image.has_signals:
            return
        changes = {"ax": number, "ip": registers["ip"].value - _LENGTH, **_rest(number, registers)}
        for name, value in changes.items():
            stream.seek(registers[name].place)
            stream.write(_varint(value, registers[name].size))


def _number(registers, noted):
    """Number of the call that begins anew, None for no such call."""
    if registers["ax"].value != _EINTR or ("mode" in registers and registers["mode"].value == _COMPAT):
        return None
    number = registers["orig_ax"].value
    if number == _RESTART and noted and (noted.stack, noted.place) == (registers["sp"].value, registers["ip"].value):
        number = noted.number
    return number if number in _AGAIN else None


def _rest(number, registers):
    """The argument that makes a sleep last for the rest of its time: dict with one register and its value, or none."""
    if number == _NANOSLEEP:
        wanted, rest = "di", registers["si"].value
    elif number == _CLOCK_NANOSLEEP and not registers["si"].value:  # to a moment, or for a time
        wanted, rest = "dx", registers["r10"].value
    else:
        return {}
    return {wanted: rest} if rest and rest >> 7 * registers[wanted].size == 0 else {}


def _varint(value, size):
    """The number as protobuf has it, in exactly so many bytes: that of another one, which was not smaller."""
    return bytes([value >> 7 * at & 0x7F | (0x80 if at < size - 1 else 0) for at in range(size)])
