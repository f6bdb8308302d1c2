"""A lab for the time of one program: its options, and its end in any case."""

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
    """Run a subcommand of the lab; its progress lines go to the terminal."""
    code = subprocess.run([sys.executable, "-m", "lab", *map(str, words)], cwd=REPO, check=False).returncode
    if code:
        raise LabError(f"The command lab {words[0]} ended with {code}.")


def keep_consoles(name, folder):
    """Copy the console logs of the lab NAME to FOLDER, before the lab's end removes them."""
    for log in (STATE / name).glob("*.serial.log"):
        shutil.copy(log, folder)


def _passed_on(args):
    given = {f"--{option}": getattr(args, option) for option in PASSED_ON}
    return [word for option, value in given.items() if value is not None for word in (option, value)]


@contextlib.contextmanager
def fleet(name, nodes, args, logs):
    """Yield the lab NAME with so many NODES, made by the options ARGS; copy the console logs to the directory LOGS."""
    memcached = clients.memcached_mib(args.keys)
    memory = args.mem or max(defaults.MEMORY, memcached + SYSTEM_MIB)
    # A killed program may have left its lab.
    lab_verb("down", "--name", name)
    try:
        lab_verb(
            "up", "--name", name, "--nodes", nodes, "--mem", memory, "--memcached", max(memcached, memory * 6 // 10),
            *_passed_on(args),
            # The image has the module: a build on an emulated processor takes minutes.
            *(["--module"] if args.engine == "ppp" else []),
        )  # fmt: skip
        yield Lab(name)
    finally:
        # A second Ctrl-C must not interrupt the clean-up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        keep_consoles(name, logs)
        lab_verb("down", "--name", name)
