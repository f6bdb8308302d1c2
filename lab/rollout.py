"""Run a rollout on a lab as an operator would, and inject what can happen to rollouts: a killed controller, a killed node.

    python3 -m lab.rollout --name LAB --log FILE [--vars JSON] [--installed DIR] [-- more words for ansible-playbook]
    python3 -m lab.rollout … --when NODE frozen|jumped --then kill-controller|kill-node
    python3 -m lab.rollout … --on TEXT COMMAND [--on TEXT COMMAND]...

Each COMMAND is a line for the shell. It runs when the output has its TEXT, after what the one before was waiting for; TEXT again is
waited for again. A command that fails, or a text that never comes, ends the rollout. Ends with the exit code of ansible-playbook, 137 if it was killed.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

from . import watch
from .command import LabError, clean_environment, say
from .paths import REPO, STATE
from .state import Lab

APPLICATION = REPO / "lab/ansible/vars/memcached.yml"
# Seconds from the rollout's start to the moment of a fault, at most.
PATIENCE = 600


def _environment(installed):
    """Return a rollout's environment. INSTALLED: a folder whose settings and collections are used instead of this tree's."""
    kept = clean_environment()
    if "ANSIBLE_NOCOLOR" in os.environ:
        kept["ANSIBLE_NOCOLOR"] = os.environ["ANSIBLE_NOCOLOR"]
    if installed:
        kept["ANSIBLE_COLLECTIONS_PATH"] = str(installed)
    return kept | {"ANSIBLE_CONFIG": str((installed or REPO) / "ansible.cfg"), "PYTHONUNBUFFERED": "1"}


class Rollout:
    """A running ansible-playbook; its output goes to the file LOG and, line by line, to the terminal.

    INSTALLED: the folder of an installed collection, whose playbook is run by its name; else this tree's playbook runs.
    PREFIX: words before the command, which it becomes. LIMIT: nodes that take part, by default; None is no word about it.
    """

    def __init__(
        self, name, log, variables, words=(), installed=None, playbook="kup-update", prefix=(), limit="memcache"
    ):
        playbook = f"kup.fleet.{playbook.replace('-', '_')}" if installed else f"playbooks/{playbook}.yml"
        venv = pathlib.Path(os.environ.get("KUP_VENV") or REPO / "build/venv").resolve()
        argv = [*prefix, str(venv / "bin/ansible-playbook"), "-i", str(STATE / name / "inventory.yml"), playbook]
        if limit and not {"-l", "--limit"} & set(words):
            argv += ["-l", limit]
        self._process = subprocess.Popen(
            [*argv, "-e", f"@{APPLICATION}", "-e", json.dumps(variables), *words],
            cwd="/" if installed else REPO,
            env=_environment(installed),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._output, self._is_over, self._said = "", False, threading.Condition()
        self._reader = threading.Thread(target=self._copy, args=(pathlib.Path(log),), daemon=True)
        self._reader.start()

    def _copy(self, log):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as file:
            for line in self._process.stdout:
                file.write(line)
                file.flush()
                sys.stdout.write(line)
                sys.stdout.flush()
                with self._said:
                    self._output += line
                    self._said.notify_all()
        with self._said:
            self._is_over = True
            self._said.notify_all()

    def await_text(self, text, place, seconds):
        """Return the place right after TEXT in the output, from PLACE on; LabError after SECONDS, or when the rollout has ended."""

        def come_or_over():
            return text in self._output[place:] or self._is_over

        with self._said:
            self._said.wait_for(come_or_over, seconds)
            found = self._output.find(text, place)
        if found < 0:
            raise LabError(f"The rollout never said '{text}'.")
        return found + len(text)

    def running(self):
        return self._process.poll() is None

    def wait(self):
        """Wait for the end; return the exit code as a shell does. An interrupted caller ends the rollout, too."""
        try:
            code = self._process.wait()
        except KeyboardInterrupt:
            self.interrupt()
            self._process.wait()
            raise
        # A worker that outlived its killed parent keeps the pipe open: do not wait for it.
        self._reader.join(5)
        return 128 - code if code < 0 else code

    def interrupt(self):
        """End it as Ctrl-C does."""
        if self.running():
            self._process.send_signal(signal.SIGINT)

    def kill(self):
        """SIGKILL the whole controller: ansible-playbook and its workers, which have sessions of their own."""
        # A stopped controller cannot start another worker between listing and killing.
        self._process.send_signal(signal.SIGSTOP)
        for pid in [self._process.pid, *_descendants(self._process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _descendants(root):
    """Return the pids of all descendants of the process ROOT."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # The command's name, in parentheses, may hold anything.
            parent = int(path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _inject(lab, rollout, node, moment, fault):
    watch.await_moment(lab, node, moment, PATIENCE, rollout.running)
    say(f"{node} is {moment}: {fault}")
    if fault == "kill-controller":
        rollout.kill()
    elif not lab.machine(node).kill():
        raise LabError(f"The node {node} does not run.")


def _react(rollout, reactions):
    """Run each command when the output has its text. REACTIONS: pairs (text, command)."""
    place = 0
    for text, command in reactions:
        place = rollout.await_text(text, place, PATIENCE)
        say(f"'{text}': {command}")
        code = subprocess.run(["sh", "-ec", command], cwd=REPO, check=False, stdin=subprocess.DEVNULL).returncode
        if code:
            raise LabError(f"The command for '{text}' ended with {code}.")


def main():
    own, words = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, words = own[:cut], own[cut + 1 :]
    parser = argparse.ArgumentParser(prog="python3 -m lab.rollout", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--name", required=True, help="the lab's name")
    parser.add_argument("--log", required=True, help="file for the output of ansible-playbook")
    parser.add_argument("--vars", type=json.loads, default={}, metavar="JSON", help="variables of the playbook")
    parser.add_argument("--installed", type=pathlib.Path, metavar="DIR", help="run the collection installed there")
    parser.add_argument("--playbook", default="kup-update", help="name of the playbook (default: %(default)s)")
    parser.add_argument("--when", nargs=2, metavar=("NODE", "MOMENT"), help="moment of the fault: frozen or jumped")
    parser.add_argument("--then", choices=("kill-controller", "kill-node"), help="the fault")
    parser.add_argument(
        "--on", nargs=2, action="append", default=[], metavar=("TEXT", "COMMAND"), help="what to do when it says so"
    )
    parser.add_argument("--inside", action="store_true", help="run it in the lab's network namespace")
    parser.add_argument("--no-limit", action="store_true", help="do not limit it to the group memcache")
    args = parser.parse_args(own)
    if bool(args.when) != bool(args.then) or args.when and args.when[1] not in watch.MOMENTS:
        parser.error(f"--when NODE {'|'.join(watch.MOMENTS)} and --then go together")
    try:
        lab = Lab(args.name)
        prefix = ["ip", "netns", "exec", lab.record["netns"]] if args.inside else []
        limit = None if args.no_limit else "memcache"
        rollout = Rollout(args.name, args.log, args.vars, words, args.installed, args.playbook, prefix, limit)
        try:
            if args.when:
                _inject(lab, rollout, *args.when, args.then)
            _react(rollout, args.on)
        except LabError:
            rollout.interrupt()
            rollout.wait()
            raise
        sys.exit(rollout.wait())
    except LabError as error:
        sys.exit(f"rollout: {error}")


if __name__ == "__main__":
    main()
