# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Is the node fit for this update? Looks at everything, changes nothing."""

from __future__ import annotations

import os
import re
import shutil

from .._blocker import Blocked, sentences
from .._boot import grub, kexec
from .._boot import kernels as node_kernels
from .._criu import command as criu_command
from .._criu import support
from .._engines import registry
from .._errors import KupError
from .._paths import RUNTIME, STATE
from .._system import filesystems
from .._system.units import Unit
from . import record as records

#: What the node needs: command → Debian package.
PACKAGES = {"criu": "criu", "kexec": "kexec-tools", "nft": "nftables", "ip": "iproute2", "ss": "iproute2"}

# The rest is for what the application allocates meanwhile.
_IMAGES_FACTOR = 1.3
_KERNELS_BYTES = 200 << 20

# What would be another word, or another path, in a unit file.
_UNFIT = re.compile(r"[\s%$\"'\\]")
# struct sockaddr_un; and what the directory of a unit's last checkpoint is called below kup_images_dir, but for its name.
_SOCKET_PATH = 107
_CHECKPOINT = "/20260101T000000/99-{}/lazy-pages.socket"


def examine(selector, unit_names, images, engine, disk_checkpoint, owner):
    """Judge the node for an update of ``unit_names`` to the kernel that ``selector`` means.

    :param images: directory for checkpoint images.
    :param engine: name of an engine, or ``auto``.
    :param disk_checkpoint: see `registry.choose`.
    :param owner: id of the run that asks.
    :returns: dict with ``target`` (release or None), ``package`` (that would bring it, or None), ``needs_update``,
        ``missing`` (Debian packages), ``problems`` (sentences; empty: fit), ``units`` (one verdict each),
        ``disk_needed`` and ``disk_free`` (bytes), ``criu`` (version or None), ``engine`` (that would
        be used, or None), ``engine_reasons`` (why no better one), ``phase``.
    :raises KupError: the arguments themselves are wrong.
    """
    if not os.path.isabs(images) or _UNFIT.search(images):
        raise KupError(
            f"The images directory is {images!r}, expected an absolute path without blanks, quotes, backslashes, % and $; "
            "correct kup_images_dir."
        )
    target = node_kernels.choose(selector)
    package = None if target else node_kernels.package(selector)
    wanted = target or (package or "")[len("linux-image-") :]
    record = records.load()
    problems = []
    if not wanted:
        have = ", ".join(node_kernels.installed()) or "none"
        problems.append(
            f"Kernel {selector!r} is neither installed (there are: {have}) nor in the package lists; "
            "correct kup_kernel or refresh the lists."
        )
    try:
        records.claim(record, owner, wanted)
    except KupError as error:
        problems.append(str(error))
    needs_update = wanted != node_kernels.running() or record["PHASE"] == "probation"
    units = [judge_unit(name) for name in unit_names]
    missing = sorted({package for command, package in PACKAGES.items() if not shutil.which(command)})
    version, chosen, reasons = None, None, []
    if needs_update:
        kernels = [node_kernels.running(), wanted] if wanted else [node_kernels.running()]
        missing = sorted({*missing, *registry.packages(engine, kernels)})
        problems += [text for text in (kexec.obstacle(), grub.obstacle()) if text]
        problems += [sentence for unit in units for sentence in unit["problems"]]
        if "criu" not in missing:
            version = criu_command.version()
            problems += filter(None, [criu_command.misfit(version, kernel) for kernel in kernels])
            said = criu_command.check()
            problems += [f"'criu check' fails on this kernel: {said}"] if said else []
            try:
                chosen, reasons = registry.choose(engine, images, kernels, disk_checkpoint, daemon=False)
                movable = [Unit(unit["unit"]) for unit in units if unit["movable"]]
                problems += [
                    blocker.sentence() for unit in movable for blocker in registry.ENGINES[chosen].unit_blockers(unit)
                ]
            except Blocked as error:
                problems += sentences(error.blockers)
        problems += filter(None, [_long_path(images, unit["unit"]) for unit in units] if chosen != "criu" else [])
        # The initramfs, or the kernel, has mounted these two before systemd asks its generators.
        if os.stat(filesystems.existing(RUNTIME)).st_dev not in {os.stat(path).st_dev for path in ("/", "/usr")}:
            problems.append(
                f"{RUNTIME} is neither on the root file system nor on that of /usr, and the next boot needs it before any other is "
                "mounted; put /usr/local there."
            )
        if os.stat(filesystems.existing(STATE)).st_dev != os.stat("/").st_dev:
            problems.append(
                f"{STATE} is not on the root file system, where the next boot looks for it before any other is mounted; "
                "put it there."
            )
    resident, shared = (sum(unit[key] for unit in units) for key in ("rss_bytes", "shmem_bytes"))
    # Where nobody knows yet which engine it will be, the one that writes most.
    likely = chosen or ("criu" if engine == registry.AUTO else engine)
    needed = int(registry.images_bytes(likely, disk_checkpoint, resident, shared) * _IMAGES_FACTOR)
    if filesystems.of(images) == filesystems.of(STATE):
        needed += _KERNELS_BYTES
    elif needs_update and _free(STATE) < _KERNELS_BYTES and record["PHASE"] != "probation":
        problems.append(
            f"{STATE} has {_free(STATE) >> 20} MiB free, expected at least {_KERNELS_BYTES >> 20} MiB for two kernels; "
            "make room."
        )
    free = _free(images)
    misfit = filesystems.misfit(images)
    if needs_update and misfit:
        problems.append(
            f"The images directory {images} is {misfit}; set kup_images_dir to a directory on a local disk, or in memory "
            "that outlives kexec: memmap=SIZE!START on the kernel's command line, /dev/pmem0 in /etc/fstab."
        )
    elif needs_update and free < needed and record["PHASE"] != "probation":
        problems.append(
            f"{images} has {free >> 20} MiB free, expected at least {needed >> 20} MiB (what the engine writes x "
            f"{_IMAGES_FACTOR}, and two kernels if they go there too); make room or set kup_images_dir."
        )
    return {
        "running": node_kernels.running(),
        "target": target,
        "package": package,
        "needs_update": needs_update,
        "missing": missing,
        "problems": problems,
        "units": units,
        "disk_needed": needed,
        "disk_free": free,
        "criu": version,
        "engine": chosen,
        "engine_reasons": reasons,
        "phase": record["PHASE"],
    }


def _free(path):
    return shutil.disk_usage(filesystems.existing(path)).free


def _long_path(images, name):
    path = images + _CHECKPOINT.format(name)
    if len(path) <= _SOCKET_PATH:
        return None
    return (
        f"The page daemon's socket {path} would have {len(path)} characters, expected at most {_SOCKET_PATH}; "
        "set kup_images_dir to a shorter path, or use the engine criu."
    )


def judge_unit(name):
    """Verdict for one unit: movable or not, and each obstacle."""
    unit = Unit(name)
    verdict = {"unit": unit.name, "movable": False, "processes": len(unit.processes)}
    verdict |= {"rss_bytes": unit.rss, "shmem_bytes": unit.shmem}
    state = unit.properties["LoadState"]
    if state != "loaded":
        verdict["problems"] = [
            f"Unit {unit.name} is {state} on this node, expected one that exists; correct kup_units."
        ]
    elif unit.properties["Id"] != unit.name:
        verdict["problems"] = [
            f"{unit.name} is another name of {unit.properties['Id']}, which would be started beside what is restored; write that in kup_units."
        ]
    elif _UNFIT.search(unit.name):
        verdict["problems"] = [
            f"Unit {unit.name} has a backslash in its name, which units of the next boot cannot pass on; give it a plain name."
        ]
    elif not unit.active:
        verdict["problems"] = [
            f"Unit {unit.name} is {unit.properties['ActiveState']} with main process {unit.main_pid}, expected an "
            "active service with a main process; start it or take it out of kup_units."
        ]
    elif not shutil.which("ss"):
        verdict["problems"] = []
    else:
        findings = support.examine(unit)
        verdict["problems"] = [problem.sentence() for problem in findings.problems]
        verdict["details"] = [problem.as_dict() for problem in findings.problems]
        verdict["movable"] = not findings.problems
        verdict["connections"] = len([socket for socket in findings.sockets if socket.connected])
    return verdict
