# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The first process of a boot to the new kernel, which lets systemd start without its BPF programs.

systemd begins with programs that the kernel has to verify, to see whether it can have them (src/core/cgroup.c, bpf-restrict-fs.c), while no
application answers. files/environment/first.c has it find no libbpf. The commit begins with a start of systemd anew, which has its programs. A way
back begins without any of this.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time

from .._errors import KupError
from .._files import make_directory, read_text, write_file
from .._paths import RUNTIME, STATE, WITHOUT_BPF
from .._run import run
from . import kexec

_INIT = "/sbin/init"
_LIBRARY = "/usr/lib/x86_64-linux-gnu/libbpf.so.1"
# Settings that need the library, in a unit's file or drop-in.
_USED = re.compile(
    rb"^\s*(RestrictFileSystems|SocketBindAllow|SocketBindDeny|RestrictNetworkInterfaces)\s*=", re.MULTILINE
)
_FILE_MAX = 1 << 20
_PATIENCE = 60  # seconds


def prepare(directory):
    """Have the boot of the staged kernel in ``directory``, which comes next, begin with another process than init, or with init.

    Right before the switch: a systemd whose own boot began so would look in the same place whenever it starts anew.

    :returns: `word`.
    """
    found = word(directory)
    if found:
        make_directory(STATE)
        make_directory(WITHOUT_BPF)
        write_file(f"{WITHOUT_BPF}/{os.path.basename(_LIBRARY)}", "")
    else:
        forget()
    return found


def word(directory):
    """The word for the kernel's command line; empty where an initramfs chooses the first process, where the operator has, where the kernel finds no
    other program (/usr/local is a file system of its own), where there is nothing to gain, where init cannot do without the library, and where a
    unit needs it."""
    line = read_text(f"{directory}/cmdline", "").split()
    if kexec.initrd(directory) or any(each.startswith("init=") for each in line):
        return ""
    if os.stat(RUNTIME).st_dev != os.stat("/").st_dev or not os.path.exists(_LIBRARY):
        return ""
    init = os.path.realpath(_INIT)
    if os.path.basename(init) != "systemd" or os.path.basename(_LIBRARY) in run(["ldd", init]).stdout:
        return ""
    if "+BPF_FRAMEWORK" not in run(["systemctl", "--version"]).stdout.split():
        return ""
    return "" if any(map(_needs_library, _unit_files())) else kexec.FIRST_PROCESS


def _unit_files():
    """Paths of all units and their drop-ins that systemd could read."""
    said = run(["systemctl", "show", "--property=UnitPath", "--value"]).stdout
    for top in said.split():
        for directory, _directories, names in os.walk(top, followlinks=True):
            yield from (f"{directory}/{name}" for name in names)


def _needs_library(path):
    try:
        with open(path, "rb") as stream:
            return bool(_USED.search(stream.read(_FILE_MAX)))
    except OSError:  # a link that leads nowhere, or a file that has just gone
        return False


def leave_to_systemd(dry=False):
    """Have systemd start anew with all that it needs, if this boot began without.

    :param dry: only say whether there is anything to do.
    :returns: whether there was.
    :raises KupError: systemd does not answer any more.
    """
    if not os.path.exists(WITHOUT_BPF):
        return False
    if not dry:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{WITHOUT_BPF}/{os.path.basename(_LIBRARY)}")
        if kexec.FIRST_PROCESS in read_text("/proc/cmdline").split():
            run(["systemctl", "daemon-reexec"])
            _await_systemd()
        forget()
    return True


def _await_systemd():
    """systemctl returns when systemd has let go of its connections, which is before it takes new ones."""
    until = time.monotonic() + _PATIENCE
    while run(["systemctl", "show", "--property=Version"], check=False).returncode:
        if time.monotonic() > until:
            raise KupError(
                f"systemd has not answered for {_PATIENCE} s after 'systemctl daemon-reexec', so the update is not committed, and the node goes "
                "back at its deadline; look at 'journalctl _PID=1', then run the playbook again."
            )
        time.sleep(0.1)


def forget():
    """Have no boot begin so."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(WITHOUT_BPF)
