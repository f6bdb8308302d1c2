"""Turn a root file system directory into a bootable raw disk, without mounting anything on this machine."""

import os
import pathlib
import subprocess

from . import vm
from .command import TIED, LabError, run, say

MIB = 1 << 20
# GPT: a partition for GRUB's core image, then the root file system up to the disk's end.
GRUB_START, ROOT_START = 1 * MIB, 2 * MIB
# GPT keeps a copy of its table at the end of the disk.
TAIL = 1 * MIB
READY = "KUP-LAB-IMAGE-READY"
# Debian 12's GRUB reads no ext4 with these two.
EXT4_FEATURES = "^metadata_csum_seed,^orphan_file"


def write(root, disk, gib, partuuid):
    """Write the directory ROOT onto a new sparse raw DISK of GIB gibibytes whose root partition is PARTUUID."""
    size = gib << 30
    with open(disk, "xb") as file:
        os.truncate(file.fileno(), size)
    sectors = (size - ROOT_START - TAIL) // 512
    table = (
        "label: gpt\n"
        f"start={GRUB_START // 512}, size={(ROOT_START - GRUB_START) // 512}, type=21686148-6449-6E6F-744E-656564454649\n"
        f"start={ROOT_START // 512}, size={sectors}, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4, uuid={partuuid}\n"
    )
    run("sfdisk", "--quiet", disk, input=table)
    say("writing the ext4 file system")
    # A fresh sparse file reads as zeros: neither mke2fs nor the node's kernel has to write inode tables.
    extended = f"offset={ROOT_START},lazy_itable_init=0,lazy_journal_init=0,assume_storage_prezeroed=1"
    run(
        "mke2fs",
        "-q",
        "-t",
        "ext4",
        "-L",
        "root",
        "-m",
        "1",
        "-i",
        "65536",
        "-O",
        EXT4_FEATURES,
        "-E",
        extended,
        "-d",
        root,
        disk,
        f"{sectors // 2}k",
    )


def install_boot_loader(root, disk, partuuid, release, log):
    """Boot the kernel RELEASE once, without a boot loader, into the script that installs GRUB from inside."""
    say("installing GRUB from inside the image")
    kernel = pathlib.Path(root) / "boot" / f"vmlinuz-{release}"
    cmdline = f"root=PARTUUID={partuuid} rw console=ttyS0,115200 quiet panic=-1 init=/var/lib/kup-lab/finish.sh"
    argv = [
        *TIED,
        # With two processors QEMU 7.2 lets a kernel that patches its own code run into int3 now and then.
        *vm.machine(memory_mib=1024, cpus=1),
        *vm.root_disk(disk),
        "-no-reboot",
        "-chardev",
        f"file,id=serial,path={log}",
        "-serial",
        "chardev:serial",
        "-kernel",
        str(kernel),
        "-append",
        cmdline,
    ]
    initrd = pathlib.Path(root) / "boot" / f"initrd.img-{release}"
    if initrd.exists():
        argv += ["-initrd", str(initrd)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, timeout=300, capture_output=True, text=True, check=False, close_fds=False
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(
            f"The image's first boot did not end within {error.timeout} s; its serial log is {log}."
        ) from error
    if done.returncode:
        raise LabError(f"QEMU ended with {done.returncode} in the image's first boot, saying: {done.stderr.strip()}")
    if READY not in pathlib.Path(log).read_text(encoding="utf-8", errors="replace"):
        raise LabError(f"GRUB could not be installed into the image; the serial log is {log}.")
