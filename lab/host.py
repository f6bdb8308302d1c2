"""Requirements of a lab on this machine: packages, memory, room on the disk, a free name."""

import pathlib
import re
import shutil
import subprocess

from . import image, mirror, network
from .command import LabError
from .paths import REPO, STATE
from .state import state_of

PACKAGES = REPO / "lab" / "packages.txt"
# QEMU's own needs besides the guest's memory, MiB.
OVERHEAD = 150


def missing_packages():
    """Return the packages of packages.txt that this machine does not have."""
    words = PACKAGES.read_text(encoding="utf-8").splitlines()
    wanted = {word for word in words if word and not word.startswith("#")}
    argv = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return sorted(wanted - {line.split()[0] for line in said.splitlines() if line.endswith(" installed")})


def refuse_unless_fit(args, wish):
    """Refuse a lab that cannot be made, before anything is made. ARGS: the options of `up`; WISH: its image."""
    missing = missing_packages()
    if missing:
        raise LabError(f"This machine lacks Debian packages that the lab needs: apt-get install {' '.join(missing)}")
    if (state_of(args.name) / "lab.json").exists() or network.exists(args.name):
        raise LabError(f"A lab named '{args.name}' exists already: end it with python3 -m lab down --name {args.name}.")
    for option, value, low, high in (
        ("nodes", args.nodes, 1, 16),
        ("cpus", args.cpus, 1, 16),
        ("disk", args.disk, 4, 1024),
        ("mem", args.mem, 384, 1 << 20),
        ("spare", args.spare, 0, 8),
    ):
        if not low <= value <= high:
            raise LabError(f"--{option} is {value}: expected {low} to {high}.")
    if wish["criu"] == "next":
        mirror.next_suite(args.release)
    available = (
        int(re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8"))[1]) >> 10
    )
    needed = args.nodes * (args.mem + OVERHEAD)
    if needed > available:
        raise LabError(
            f"{args.nodes} nodes of {args.mem} MiB need {needed} MiB of memory and {available} MiB are available: ask for less."
        )
    # A node's disk holds about 0.5 GiB at first and takes the checkpoints later; a build takes about 3 GiB at its height.
    STATE.mkdir(parents=True, exist_ok=True)
    for place, wanted in ((STATE, 2 * args.nodes), (image.cache(), 3)):
        free = shutil.disk_usage(place).free >> 30
        if free < wanted:
            raise LabError(
                f"{place} has {free} GiB free and a lab of {args.nodes} nodes needs {wanted} GiB there: make room."
            )
