# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Kernels that are preserved below /var/lib/kup, and loaded with kexec(8)."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from .._errors import KupError
from .._files import copy_file, make_directory, read_text, write_file
from .._paths import KERNELS, RUNTIME, SUMS
from .._run import run
from . import checks, kernels, panic, root_device

#: The word that `crash_kernel.room` puts on a command line. The address @0 (anywhere) is redundant: it tells the word from an
#: operator's own.
CRASH_MEMORY = re.compile(r"crashkernel=\d+K@0")

#: The word that `first_process.word` puts on a command line.
FIRST_PROCESS = f"init={RUNTIME}/environment"

#: How the names begin of what is made of a preserved image (`_engines.direct`): none of another image may stay.
MADE = ("patched", "unpacked")

_FOUR_LEVELS = "no5lvl"
# The kernel tests its ciphers at each boot, those for public keys for half a second on a processor that does an instruction in a nanosecond. In
# FIPS mode it does so in any case. Ends with files/node/boot/early; an operator's own word for it is hardly spelled so.
_NO_TESTS = "cryptomgr.notests=Y"
# What only a boot to the new kernel has (`forward.words`).
_FORWARD = re.compile(f"{CRASH_MEMORY.pattern}|{FIRST_PROCESS}")


def blockers(target=None):
    """Why this node cannot kexec, into the kernel ``target`` if it is known: `Blocker`s."""
    found = checks.kexec_off(read_text("/proc/sys/kernel/kexec_load_disabled", "0"))
    found += checks.lockdown(read_text("/sys/kernel/security/lockdown", ""))
    found += checks.kexec_missing(os.path.exists("/sys/kernel/kexec_loaded"))
    if target:
        found += checks.page_table_levels(target, _knows_five_levels(target), read_text("/proc/cpuinfo", ""))
    return found


def _knows_five_levels(release):
    """Whether a kernel is not known to be built without 5-level page tables; since 6.17 none is."""
    return "\n# CONFIG_X86_5LEVEL is not set\n" not in read_text(f"/boot/config-{release}", "")


def place(release):
    """Directory of a preserved kernel."""
    return f"{KERNELS}/{release}"


def command_line(current, knows_five=True):
    """Command line for the next kernel: the running one's without what its loader put there, and what a switch needs.

    :param knows_five: whether the running kernel, to which the next one may have to go back, knows 5-level page tables. From a kernel that uses
        them, one that does not know them cannot be entered.

    ``rw`` saves the remount (and the check of a journalled file system) that stands before everything else in a boot;
    ``quiet`` saves what a serial console takes for a thousand lines (at 115200 baud, seconds).
    """
    ours = {"ro", "rw", "quiet", _NO_TESTS, *panic.ALL_WORDS}
    words = [word for word in current.split() if not re.match(r"(BOOT_IMAGE|initrd|kup_ppp\.table)=", word)]
    kept = [word for word in words if word not in ours and not _FORWARD.fullmatch(word)]
    levels = [] if knows_five or _FOUR_LEVELS in kept else [_FOUR_LEVELS]
    return " ".join([*kept, *levels, "rw", "quiet", _NO_TESTS, *panic.words()])


def preserve(release, initramfs):
    """Copy ``release`` with what it boots with to its `place`; a package removal cannot take it away.

    :param initramfs: ``host-only``, ``distribution``, or ``auto`` (none where the kernel mounts its root by itself,
        else host-only).
    :returns: whether anything was written.
    :raises KupError: image missing, or the initramfs cannot be made.
    """
    image = f"/boot/vmlinuz-{release}"
    directory = place(release)
    line = command_line(read_text("/proc/cmdline"), _knows_five_levels(kernels.running()))
    kind = initramfs
    if initramfs == "auto":
        partition = root_device.bare_root(release)
        kind = "none" if partition else "host-only"
        if partition:
            line = re.sub(r"\broot=\S+", f"root=PARTUUID={partition}", line)
    if not os.path.exists(image):
        raise KupError(f"{image} does not exist, expected the image of kernel {release}; install its package.")
    wanted = f"{_identity(image)} {kind}\n{line}\n"
    if read_text(f"{directory}/staged", "") + "\n" == wanted:
        return False
    make_directory(KERNELS)
    make_directory(directory)
    for name in os.listdir(directory):
        if name.startswith(MADE):
            os.unlink(f"{directory}/{name}")
    copy_file(image, f"{directory}/vmlinuz")
    if kind == "none":
        if os.path.exists(f"{directory}/initrd"):
            os.unlink(f"{directory}/initrd")
    elif kind == "distribution":
        copy_file(f"/boot/initrd.img-{release}", f"{directory}/initrd")
    else:
        _host_only(release, f"{directory}/initrd")
    write_file(f"{directory}/cmdline", line + "\n")
    write_file(f"{directory}/staged", wanted)  # last: it says that the rest is whole
    return True


def _identity(path):
    status = os.stat(path)
    return f"{status.st_size} {status.st_mtime_ns}"


def _host_only(release, path):
    """Build an initramfs for this node's root file system; a complicated root gets the distribution's choice of modules."""
    modules = root_device.needed_modules()
    with tempfile.TemporaryDirectory(prefix="kup-initramfs-", dir="/var/tmp") as scratch:
        configuration = f"{scratch}/conf"
        shutil.copytree("/etc/initramfs-tools", configuration, symlinks=True)
        os.makedirs(f"{configuration}/conf.d", exist_ok=True)
        # Read last (conf.d in order of name). Light compression: it is unpacked while the application waits.
        settings = "COMPRESS=zstd\nCOMPRESSLEVEL=1\n" + ("MODULES=list\nRESUME=none\n" if modules else "")
        with open(f"{configuration}/conf.d/zzz-kup", "w", encoding="ascii") as stream:
            stream.write(settings)
        with open(f"{configuration}/modules", "a", encoding="ascii") as stream:
            stream.writelines(f"{name}\n" for name in sorted(modules or ()))
        run(["mkinitramfs", "-d", configuration, "-o", f"{scratch}/initrd", release], timeout=900)
        copy_file(f"{scratch}/initrd", path)


def load(release, more="", call="--kexec-syscall-auto"):
    """Load a preserved kernel for `execute`, with ``more`` words on its command line.

    :param call: word for kexec(8) with the system call; by default kexec_file_load (under Secure Boot the only way), then kexec_load.
    :raises KupError: kexec(8) refuses it.
    """
    run(load_command(f"{place(release)}/vmlinuz", [call], more))


def load_summed(image, options, more=""):
    """Load ``image``, one that `_image.image` has written, with check sums that its own code compares (files/sums).

    :param options: words for kexec(8), with that of the system call which it uses.
    :param more: words for the kernel's command line.
    :raises KupError: kexec(8) refuses it.
    """
    command = load_command(image, options, more)
    done = run([*command, "--no-checks"], more=[("LD_PRELOAD", SUMS)])
    # Without the library, or on a processor that cannot sum up so fast, kexec(8)'s own have to do.
    if not done.stdout.startswith("kup_sums: "):
        run(command)


def load_command(image, options, more=""):
    """Command line that loads ``image`` with the files beside it.

    :param more: words for the kernel's command line.
    """
    directory = os.path.dirname(image)
    line = " ".join(filter(None, [read_text(f"{directory}/cmdline", ""), more]))
    command = ["kexec", *options, "--load", image, f"--command-line={line}"]
    return command + ([f"--initrd={initrd(directory)}"] if initrd(directory) else [])


def initrd(directory):
    """Path of the initramfs in a preserved kernel's directory, or None."""
    path = f"{directory}/initrd"
    return path if os.path.exists(path) else None


def loaded():
    """Whether a kernel is loaded."""
    return read_text("/sys/kernel/kexec_loaded", "0") == "1"


def unload():
    """Drop the loaded kernel."""
    if loaded():
        run(["kexec", "--unload"])


def execute():
    """Jump into the loaded kernel; returns only by raising.

    kexec(8) takes the network interfaces down before it jumps: a new kernel cannot defend itself against
    a card that goes on writing into memory.

    :raises KupError: the kernel refused.
    """
    run(["kexec", "--no-sync", "--exec"])
    raise KupError("'kexec --exec' came back without an error; no kernel was loaded.")
