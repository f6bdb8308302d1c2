# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A panic of a kernel on probation starts the preserved kernel, which saves the log and restores the applications.

The new kernel sets memory aside (``crashkernel=``, Documentation/admin-guide/kdump/kdump.rst); early in its user space the preserved
kernel is loaded there (files/node/crash/arm). After a panic it runs in the little memory that was set aside, with one program
only (files/node/crash/crashed): it writes down what happened, and loads and starts the preserved kernel once more, with all memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil

from .._files import make_directory, read_text, write_file
from .._paths import RUNTIME
from .._run import run
from .._system import memory
from . import kexec, load_window

_SIZE = "/sys/kernel/kexec_crash_size"
_LOADED = "/sys/kernel/kexec_crash_loaded"
# What the firmware said of the memory; kexec(8) tells the next kernel that.
_FIRMWARE = "/sys/firmware/memmap"

# What the crash kernel's few processes and what they read take, beside the kernels.
_BESIDE = 96 << 20
_UNIT = 16 << 20
# What a kernel sets aside for devices below 4 GiB, if it has to take the rest from above.
_LOW, _BELOW = 256 << 20, 4 << 30

# The crash kernel has no memory to spare; its devices were in use a moment ago; it starts on whichever processor was left.
_DROPPED = re.compile(r"(default_)?hugepage\S*=|crashkernel=")
_WORDS = f"init={RUNTIME}/crash/crashed reset_devices nr_cpus=1"


def room(directory):
    """The word that makes the new kernel set memory aside for the staged one in ``directory``; empty if it is not to be.

    Not where the operator has a crash kernel, nor where it would take more than half of what is free; nor under lockdown, where no
    kernel can be loaded by a map of the memory.
    """
    if "[none]" not in read_text("/sys/kernel/security/lockdown", "[none]"):
        return ""
    own = any(
        word.startswith("crashkernel=") and not kexec.CRASH_MEMORY.fullmatch(word)
        for word in read_text("/proc/cmdline").split()
    )
    if own or not os.path.isdir(_FIRMWARE):
        return ""
    needed = piece(directory)
    low = _LOW if any(end > _BELOW for _start, end in load_window.ram()) else 0
    if needed + low > memory.available() // 2:
        return ""
    return f"crashkernel={needed >> 10}K@0"


def piece(directory):
    """Bytes that the preserved kernel in ``directory`` needs as a crash kernel, in one piece.

    Once for itself, and twice for the kernel that it loads: kexec accepts none that is larger than half of the memory.
    """
    images = [path for path in (f"{directory}/vmlinuz", f"{directory}/patched") if os.path.exists(path)]
    needed = 3 * max(load_window.size(image, kexec.initrd(directory)) for image in images) + _BESIDE
    return -(-needed // _UNIT) * _UNIT


def provide_files(directory):
    """Write what the crash kernel needs beside the preserved kernel in ``directory``, and cannot find out in its small memory.

    ``crash-cmdline``, its command line; ``memmap``, the firmware's map of the memory as files; ``window``, where the next kernel is
    loaded: its own map lacks the areas that this kernel must leave alone (``memmap=``).

    :returns: whether anything was written.
    """
    line = " ".join(word for word in read_text(f"{directory}/cmdline").split() if not _DROPPED.match(word))
    wanted = json.dumps([read_text(f"{directory}/staged"), line, _WORDS, _map(_FIRMWARE)])
    if not os.path.isdir(_FIRMWARE) or read_text(f"{directory}/crash-source") == wanted:
        return False
    write_file(f"{directory}/crash-cmdline", f"{line} {_WORDS}\n")
    shutil.rmtree(f"{directory}/memmap", ignore_errors=True)
    for number, entry in _map(_FIRMWARE).items():
        make_directory(f"{directory}/memmap/{number}")
        for name, text in entry.items():
            write_file(f"{directory}/memmap/{number}/{name}", text + "\n")
    needed = load_window.size(f"{directory}/vmlinuz", kexec.initrd(directory))
    window = load_window.options(load_window.choose(load_window.ram(), needed))
    write_file(f"{directory}/window", " ".join(window) + "\n")
    write_file(f"{directory}/crash-source", wanted)  # last: it says that the rest is whole
    return True


def _map(directory):
    """The entries of a directory like /sys/firmware/memmap: dict number → dict of its files."""
    numbers = sorted(os.listdir(directory), key=int) if os.path.isdir(directory) else []
    return {
        number: {name: read_text(f"{directory}/{number}/{name}") for name in ("start", "end", "type")}
        for number in numbers
    }


def disarm(record):
    """Unload the crash kernel and give its memory back to the node: after the update, panics are the operator's affair."""
    if not record["CRASHKERNEL"]:
        return
    run(["systemctl", "stop", "kup-crash.service"], check=False)  # it may be at work yet
    if read_text(_LOADED, "0") != "0":
        run(["kexec", "--load-panic", "--unload"])
    if read_text(_SIZE, "0") != "0":
        with contextlib.suppress(OSError), open(_SIZE, "w", encoding="ascii") as stream:
            stream.write("0")  # if the kernel refuses, the memory is back after the next boot
