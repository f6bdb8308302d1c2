# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of single memory engines: what stops one of them, while another may work."""

from __future__ import annotations

from .._blocker import check
from .._criu.command import numbers

#: File systems on which files with offsets up to 2^43 and large holes were tried.
FILE_SYSTEMS = ("ext4", "xfs")
_OLDEST = (6, 1)
#: Locked memory that is copied while a unit is frozen, bytes: about as much as a disk takes in a second.
LOCKED_MAX = 256 << 20


@check
def page_daemon(program, runs):
    """The page daemon is missing, or was built for another machine."""
    if not runs:
        yield (
            f"The page daemon {program}",
            "is missing or does not run on this machine",
            "install the collection's tarball",
        )


@check
def criu_feature(feature, said):
    """`criu check --feature` finds that the running kernel lacks what the engine needs."""
    if said:
        yield (
            f"'criu check --feature {feature}'",
            f"fails on this kernel: {said}",
            "boot a kernel that has the feature, or use the engine criu",
        )


@check
def images_file_system(images, kind):
    """`kup_images_dir` is on a file system that cannot hold files with large holes."""
    if kind not in FILE_SYSTEMS:
        yield (
            images,
            f"is on {kind}, expected one of {', '.join(FILE_SYSTEMS)} for files with large holes",
            "set kup_images_dir to a directory there, or use the engine criu",
        )


@check
def images_in_memory(images, in_memory):
    """With auto: `kup_survive` has power_cut, and checkpoints would go to memory, which a power cut empties."""
    if in_memory:
        yield (
            images,
            "is in memory, which a power cut empties",
            "set kup_images_dir to a disk, or take power_cut out of kup_survive",
        )


@check
def engine_survives(dangers):
    """With auto: the engine's checkpoints do not survive what `kup_survive` names."""
    if dangers:
        yield (
            "It",
            f"does not survive {', '.join(dangers)}, which kup_survive has",
            "take that out of kup_survive for a shorter outage",
        )


@check
def engine_packages(names):
    """With auto: the engine needs packages that the node does not have, and that nobody has asked for."""
    if names:
        yield (
            ", ".join(names),
            "would have to be installed for it, which kup_engine auto does not do",
            "install what is missing, or name the engine in kup_engine",
        )


@check
def engine_failed(sentence):
    """With auto: the engine was tried on the node, and could not be prepared."""
    if sentence:
        yield (
            "It",
            f"could not be prepared: {sentence.rstrip('.')}",
            "look at that, or name another engine in kup_engine",
        )


@check
def disk_checkpoint_in_memory(images, in_memory):
    """The disk checkpoint would go to memory, which a power cut empties."""
    if in_memory:
        yield (
            images,
            "is in memory, which a power cut empties",
            "set kup_images_dir to a disk for the disk checkpoint",
        )


@check
def kernel_option(release, configuration, options):
    """One of the two kernels is built without an option that the engine needs."""
    for option in options:
        if configuration and f"\n{option}=y" not in configuration:
            yield f"Kernel {release}", f"is built without {option}", "choose another kernel, or use the engine criu"


@check
def machine(name):
    """The machine is not x86_64: page frames can be kept on that only."""
    if name != "x86_64":
        yield f"This machine ({name})", "cannot keep page frames, expected x86_64", "use the engine foam"


@check
def unsigned_code(lockdown):
    """The kernel is locked down (Secure Boot) and takes neither a patched image nor an unsigned module."""
    if "[integrity]" in lockdown or "[confidentiality]" in lockdown:
        yield (
            "The kernel",
            "is locked down (Secure Boot) and takes neither a patched image nor an unsigned module",
            "switch Secure Boot off, or use the engine foam",
        )


@check
def huge_page_size(settings):
    """Huge pages of a certain size are always made, also while memory is put back."""
    # A size with the value `inherit` follows the node's setting, which is off while memory is put back.
    for name, value in settings.items():
        if "[always]" in value:
            yield f"The setting {name}/enabled", "is always", "write 'inherit' to it"


@check
def kernel_too_old(release, module):
    """One of the two kernels is older than the oldest that the kernel module knows."""
    if numbers(release)[:2] < _OLDEST:
        yield (
            f"Kernel {release}",
            f"is older than {'.'.join(map(str, _OLDEST))}, the oldest that the module {module} knows",
            "choose a newer kernel, or use the engine foam",
        )


@check
def kernel_headers(release, module, available):
    """For one of the two kernels there is neither the kernel module nor what it is built with."""
    if not available:
        yield (
            f"Kernel {release}",
            f"has neither the module {module} nor headers to build it with",
            f"install linux-headers-{release}",
        )


@check
def relative_memory_limit(settings):
    """The unit, or a slice around it, has a memory limit in percent: pages that are kept are missing in the total."""
    for where, setting in settings:
        yield (
            f"{setting} in {where}",
            "is a share of memory, which systemd computes while the kept memory is missing, expected bytes",
            "write bytes, or use the engine foam",
        )


@check
def swapped_out(swapped, room, limit, late):
    """More of the unit is swapped out than memory has room for."""
    if swapped > max(room, 0) + late:
        yield (
            "",
            f"has {swapped >> 20} MiB swapped out, which have to come in, but {limit} has room for {max(room, 0) >> 20} MiB",
            "make room there, or use the engine foam",
        )


@check
def shared_copies(copies, free):
    """With ppp: memory has no room for copies of the pages that a unit's processes share copy-on-write."""
    if copies > free:
        yield (
            "its memory",
            f"has {copies >> 20} MiB that its processes share copy-on-write, of which each would get its own, but only "
            f"{free >> 20} MiB of memory are available",
            "make room, or use the engine foam",
        )


@check
def locked_memory(locked):
    """With ppp: a unit has much locked memory (mlock(2)), which cannot stay in its frames and is copied while the unit is frozen."""
    if locked > LOCKED_MAX:
        yield (
            "its locked memory",
            f"has {locked >> 20} MiB, expected at most {LOCKED_MAX >> 20} MiB, because it is copied while the unit is frozen",
            "let the unit do without mlock(2), or use the engine foam",
        )
