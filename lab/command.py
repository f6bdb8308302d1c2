"""Run external commands, and fail with one sentence."""

import os
import shutil
import subprocess
import sys

# Prefix of a long-running child, which must not outlive this program or leave a mount.
TIED = ["unshare", "--mount", "setpriv", "--pdeathsig", "TERM", "--"]


# Variables of a surrounding Ansible, Molecule, AWX or Python.
_FOREIGN = ("ANSIBLE_", "CONTROLLER_", "MOLECULE_", "PYTHON", "TOWER_", "VIRTUAL_ENV")


class LabError(Exception):
    """A failure whose text is one complete sentence for the person at the terminal."""


def say(text):
    """Print one progress line at once, also into a pipe."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def clean_environment():
    """Return this process's environment without what a surrounding Ansible or Python is set up by."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}


def run(*argv, input=None, cwd=None, env=None):
    """Run ARGV and return its standard output as text; a failure names the command and its last line of output."""
    argv = [str(word) for word in argv]
    if shutil.which(argv[0]) is None:
        raise LabError(f"The command {argv[0]} is missing on this machine: install the packages in lab/packages.txt.")
    done = subprocess.run(argv, input=input, cwd=cwd, env=env, text=True, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise LabError(f"The command '{' '.join(argv)[:200]}' ended with {done.returncode}, saying: {said}")
    return done.stdout
