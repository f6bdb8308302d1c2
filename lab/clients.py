"""The load clients of a lab, one per node: start, stop, verify.

    python3 -m lab.clients start  --name LAB --out DIR --keys N     fill each node, then keep it under load
    python3 -m lab.clients stop   --name LAB --out DIR              DIR/NODE.load.json: what the client saw
    python3 -m lab.clients verify --name LAB --out DIR --keys N     DIR/NODE.verify.json: every key compared whole

Each for all nodes, or for the named ones.
"""

import argparse
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

from . import defaults
from .command import LabError, say
from .paths import REPO
from .state import Lab

# A light load: the clients share the machine with the nodes that they measure.
RATE = 50
# Milliseconds between two probes. A probe is a new connection, which costs an emulated processor milliseconds.
PROBE_MS = 20
IDLE = 8
SIZE = 1024
# Seconds for a client to open its connections, and to end.
PATIENCE = 60
# Seconds for the long-lived connections: TCP doubles the time between retransmissions, so a node that is back is noticed late.
SETTLE = 240
# An item of 1 KiB with memcached's header and the waste of its slab class.
ITEM_BYTES = 1400


def memcached_mib(keys):
    """Return the memory that memcached needs for KEYS values of this load, MiB."""
    return (keys * ITEM_BYTES >> 20) + 8


class Clients:
    """The clients of a lab (or of some of its nodes); their files are in the directory OUT."""

    def __init__(self, lab, out, only=()):
        self.netns = lab.record["netns"]
        self.nodes = {name: lab.machine(name).node["address"] for name in only or lab.machines}
        self.out = pathlib.Path(out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)

    def result_path(self, node):
        return self.out / f"{node}.load.json"

    def verdict_path(self, node):
        return self.out / f"{node}.verify.json"

    def _pidfile(self, node):
        return self.out / f"{node}.load.pid"

    def _argv(self, verb, node, *options):
        python = ["ip", "netns", "exec", self.netns, "/usr/bin/python3", "-m", "lab.load"]
        return [*python, verb, "--host", self.nodes[node], "--size", str(SIZE), *map(str, options)]

    def _all(self, verb, options_of):
        """Run VERB for all nodes at once; return {node: (exit code, last line said)}."""
        running = {
            node: subprocess.Popen(
                self._argv(verb, node, *options_of(node)),
                cwd=REPO,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for node in self.nodes
        }
        said = {node: process.communicate()[0].strip() for node, process in running.items()}
        return {node: (running[node].returncode, (said[node].splitlines() or ["nothing"])[-1]) for node in running}

    def fill(self, keys):
        """Give every node its keys."""
        for code, said in self._all("fill", lambda node: ("--keys", keys)).values():
            if code:
                raise LabError(said)

    def start(self, keys, probe_ms=PROBE_MS):
        """Start a client for every node and return when all of them have had their first answers.

        Outages are seen with a resolution of PROBE_MS; one begins with five probes without an answer.
        """
        # Two clients would take each other's writes for damage.
        self.stop()
        started = {}
        for node in self.nodes:
            out = self.result_path(node)
            for path in (out, self.verdict_path(node), self._status_path(node)):
                path.unlink(missing_ok=True)
            options = ("--keys", keys, "--out", out, "--rate", RATE, "--idle", IDLE)
            options += ("--probe-interval", probe_ms, "--threshold", 5 * probe_ms)
            with self._log_path(node).open("w", encoding="utf-8") as log:
                started[node] = subprocess.Popen(
                    self._argv("run", node, *options),
                    cwd=REPO,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # A Ctrl-C at the terminal must not end the client: its result is still wanted.
                    start_new_session=True,
                )
            self._pidfile(node).write_text(str(started[node].pid), encoding="utf-8")
        for node, process in started.items():
            self._await_first_answers(node, process)

    def _await_first_answers(self, node, process):
        deadline = time.monotonic() + PATIENCE
        while not (self.status(node).get("ops") and self.status(node).get("probe_last_answer_at")):
            if process.poll() is not None or time.monotonic() > deadline:
                said = self._log_path(node).read_text(encoding="utf-8").strip() or "nothing"
                raise LabError(f"The load client of {node} has had no answers, saying: {said}")
            time.sleep(0.2)

    def _log_path(self, node):
        return self.out / f"{node}.load.log"

    def _status_path(self, node):
        return self.out / f"{node}.load.json.status"

    def status(self, node):
        """Return the running client's last status, at most a second old; {} before the first."""
        try:
            return json.loads(self._status_path(node).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def _is_running(self, node):
        try:
            pid = int(self._pidfile(node).read_text(encoding="utf-8"))
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except (OSError, ValueError):
            return None
        # Another process may have the pid by now.
        return pid if str(self.result_path(node)) in words else None

    def settle(self):
        """Wait until every long-lived connection has an answer again or is lost."""
        deadline = time.monotonic() + SETTLE
        for node in self.nodes:
            while self._is_running(node) and time.monotonic() < deadline:
                status = self.status(node)
                if status["lost"] or status["time"] > time.time() - 2 and status["last_answer_age_s"] < 1:
                    break
                time.sleep(0.5)

    def stop(self):
        """End the running clients; return {node: the client's result, None if it left none}."""
        handles = []
        for node in self.nodes:
            pid = self._is_running(node)
            if pid:
                handles.append(os.pidfd_open(pid))
                signal.pidfd_send_signal(handles[-1], signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        for handle in handles:
            select.select([handle], [], [], max(0, deadline - time.monotonic()))
            os.close(handle)
        return self.results()

    def results(self):
        """Return {node: its client's result, None if there is none}."""
        return {node: _read(self.result_path(node)) for node in self.nodes}

    def verify(self, keys, aloud=True):
        """Compare every key of every node; return {node: verdict, None if the node did not answer to the end}.

        ALOUD: report losses on the terminal.
        """

        def options(node):
            self.verdict_path(node).unlink(missing_ok=True)
            return ("--keys", keys, "--state", self.result_path(node), "--out", self.verdict_path(node))

        for code, said in self._all("verify", options).values():
            if code and aloud:
                say(said)
        return {node: _read(self.verdict_path(node)) for node in self.nodes}


def _read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser(prog="python3 -m lab.clients", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("verb", choices=("start", "stop", "verify"))
    parser.add_argument("--name", required=True, help="the lab's name")
    parser.add_argument("--out", required=True, help="directory of the clients' files")
    parser.add_argument("--keys", type=int, default=defaults.KEYS, help="keys per node (default: %(default)s)")
    parser.add_argument("--probe-ms", type=int, default=PROBE_MS, help="between two probes (default: %(default)s)")
    parser.add_argument("nodes", nargs="*", help="only these nodes")
    args = parser.parse_args()
    try:
        clients = Clients(Lab(args.name), args.out, args.nodes)
        if args.verb == "start":
            clients.fill(args.keys)
            clients.start(args.keys, args.probe_ms)
        elif args.verb == "stop":
            clients.settle()
            missing = [node for node, result in clients.stop().items() if result is None]
            if missing:
                raise LabError(
                    f"The load clients of {', '.join(missing)} left no result; their logs are in {args.out}."
                )
        else:
            verdicts = clients.verify(args.keys)
            bad = [node for node, found in verdicts.items() if not found or found["keys_lost"] or found["keys_wrong"]]
            if bad:
                raise LabError(f"Keys of {', '.join(bad)} are lost or wrong; see NODE.verify.json in {args.out}.")
    except LabError as error:
        sys.exit(f"clients: {error}")


if __name__ == "__main__":
    main()
