"""A lab for the time of one program: arguments that describe it, up, and down whatever happens."""

import contextlib
import shutil
import signal
import subprocess
import sys

from . import clients, defaults
from .command import LabError
from .paths import REPO, STATE
from .state import Lab

# What a node needs besides memcached, MiB: the system, and a page cache that takes a checkpoint.
SYSTEM_MIB = 384
# Options of `lab up` that a program of one lab takes, too.
PASSED_ON = {
    "cpus": "CPUs of a node",
    "release": "Debian release",
    "from": "series of the kernel before the update",
    "to": "series of the kernel after it",
    "criu": "CRIU of the release or of the next one",
}


def add_arguments(parser):
    """Add the options that describe nodes, their keys and their kernels."""
    parser.add_argument("--keys", type=int, default=100000, help="keys of 1 KiB per node (default: %(default)s)")
    parser.add_argument("--mem", type=int, metavar="MIB", help="memory of a node (default: what the keys need)")
    parser.add_argument("--engine", default="auto", help="memory engine (default: %(default)s)")
    for option, help in PASSED_ON.items():
        parser.add_argument(f"--{option}", help=help)


def lab_verb(*words):
    """Run a verb of the lab, whose progress lines go to the terminal."""
    code = subprocess.run([sys.executable, "-m", "lab", *map(str, words)], cwd=REPO, check=False).returncode
    if code:
        raise LabError(f"The command lab {words[0]} ended with {code}.")


def keep_consoles(name, folder):
    """Copy what the nodes of the lab NAME have said on their consoles to FOLDER: it goes with the lab."""
    for log in (STATE / name).glob("*.serial.log"):
        shutil.copy(log, folder)


def _passed_on(args):
    given = {f"--{option}": getattr(args, option) for option in PASSED_ON}
    return [word for option, value in given.items() if value is not None for word in (option, value)]


@contextlib.contextmanager
def fleet(name, nodes, args, logs):
    """Yield the lab NAME with so many NODES, made as ARGS describe; copy the serial logs to the directory LOGS."""
    memcached = clients.memcached_mib(args.keys)
    memory = args.mem or max(defaults.MEMORY, memcached + SYSTEM_MIB)
    # An earlier one may have been killed.
    lab_verb("down", "--name", name)
    try:
        lab_verb(
            "up", "--name", name, "--nodes", nodes, "--mem", memory, "--memcached", max(memcached, memory * 6 // 10),
            *_passed_on(args),
            # Built in the image: on an emulated processor it takes minutes.
            *(["--module"] if args.engine == "ppp" else []),
        )  # fmt: skip
        yield Lab(name)
    finally:
        # Not to be left half done by a second Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        keep_consoles(name, logs)
        lab_verb("down", "--name", name)
