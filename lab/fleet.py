"""A lab for the time of one program: arguments that describe it, up, and down whatever happens."""

import contextlib
import shutil
import signal
import subprocess
import sys

from . import clients
from .command import LabError
from .paths import REPO, STATE
from .state import Lab

# What a node needs besides memcached, MiB: the system, and a page cache that takes a checkpoint.
SYSTEM_MIB = 384
SMALLEST_MIB = 640


def add_arguments(parser):
    """Add the options that describe nodes, their keys and their kernels."""
    parser.add_argument("--keys", type=int, default=100000, help="keys of 1 KiB per node (default: %(default)s)")
    parser.add_argument("--mem", type=int, metavar="MIB", help="memory of a node (default: what the keys need)")
    parser.add_argument("--cpus", type=int, default=1, help="CPUs of a node (default: %(default)s)")
    parser.add_argument("--release", default="13", help="Debian release (default: %(default)s)")
    parser.add_argument("--from", dest="old", default="6.12", metavar="SERIES", help="(default: %(default)s)")
    parser.add_argument("--to", dest="new", default="7.2", metavar="SERIES", help="(default: %(default)s)")
    parser.add_argument("--criu", default="next", help="CRIU of the release or the next one (default: %(default)s)")
    parser.add_argument("--engine", default="auto", help="memory engine (default: %(default)s)")


def lab_verb(*words):
    """Run a verb of the lab, whose progress lines go to the terminal."""
    code = subprocess.run([sys.executable, "-m", "lab", *map(str, words)], cwd=REPO, check=False).returncode
    if code:
        raise LabError(f"The command lab {words[0]} ended with {code}.")


def keep_consoles(name, folder):
    """Copy what the nodes of the lab NAME have said on their consoles to FOLDER: it goes with the lab."""
    for log in (STATE / name).glob("*.serial.log"):
        shutil.copy(log, folder)


@contextlib.contextmanager
def fleet(name, nodes, args, logs):
    """Yield the lab NAME with so many NODES, made as ARGS describe; copy the serial logs to the directory LOGS."""
    memcached = clients.memcached_mib(args.keys)
    memory = args.mem or max(SMALLEST_MIB, memcached + SYSTEM_MIB)
    # An earlier one may have been killed.
    lab_verb("down", "--name", name)
    try:
        lab_verb(
            "up", "--name", name, "--nodes", nodes, "--mem", memory, "--memcached", max(memcached, memory * 6 // 10),
            "--cpus", args.cpus, "--release", args.release, "--from", args.old, "--to", args.new, "--criu", args.criu,
            # Built in the image: on an emulated processor it takes minutes.
            *(["--module"] if args.engine == "ppp" else []),
        )  # fmt: skip
        yield Lab(name)
    finally:
        # Not to be left half done by a second Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        keep_consoles(name, logs)
        lab_verb("down", "--name", name)
