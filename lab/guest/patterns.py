"""A service of three processes with three counting threads each, which can prove that its memory is intact.

    patterns.py install    on a node: install it as patterns.service, start it, and save its state
    patterns serve         the service, on port 7070
    patterns ask           print the state of each process, as JSON
    patterns check         compare its state with the saved one: exit code 1 and a sentence for a difference
    patterns mark          have it remember a new mark, and save that mark durably
    patterns judge         print, as JSON, whether its memory is whole, and its age: from the last mark or later (running), from
                           before it (checkpoint), or from a new start (fresh)

Every byte of a pattern follows from its place, and every step of a thread from the step before (a chain of digests
from a known seed), so lost, torn or older memory is detected.
"""

import contextlib
import hashlib
import json
import mmap
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

ADDRESS = ("127.0.0.1", 7070)
CHILDREN = 2
THREADS = 3
BLOCK, BLOCKS = 4096, 1024
# Nine threads at this pace take a few hundredths of an emulated processor.
STEP_PAUSE = 0.2
# Seconds for an answer: its memory may still be on its way.
PATIENCE = 60

PROGRAM = pathlib.Path("/usr/local/bin/patterns")
BEFORE = pathlib.Path("/var/tmp/patterns.before")
MARK = pathlib.Path("/var/tmp/patterns.mark")
UNIT = f"""[Unit]
Description=Processes and threads that know what their memory should be

[Service]
ExecStart=/usr/bin/python3 {PROGRAM} serve
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""


class Chain(threading.Thread):
    """A thread that counts: each step digests the step before."""

    def __init__(self, seed, shared=None):
        super().__init__(daemon=True)
        self._seed, self._shared = seed, shared
        self._lock = threading.Lock()
        self._digest = hashlib.sha256(seed).digest()
        self._steps = 0

    def run(self):
        while True:
            with self._lock:
                self._digest = hashlib.sha256(self._digest).digest()
                self._steps += 1
                if self._shared:
                    self._shared(self._steps)
            time.sleep(STEP_PAUSE)

    def proven(self):
        """Return (steps so far, whether the digest is that of so many steps)."""
        with self._lock:
            steps, digest = self._steps, self._digest
        expected = hashlib.sha256(self._seed).digest()
        for _step in range(steps):
            expected = hashlib.sha256(expected).digest()
        return steps, digest == expected


class Process:
    """One process of the service: a private pattern, chains, and a place in the memory that all share."""

    def __init__(self, name, place, shared):
        self._name, self._place, self._shared = name, place, shared
        self._pattern = mmap.mmap(-1, BLOCK * BLOCKS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for block in range(BLOCKS):
            self._pattern[block * BLOCK : (block + 1) * BLOCK] = self._expected(block)
        self._chains = [
            Chain(f"{name} thread {number}".encode(), self._publish if number == 0 else None)
            for number in range(THREADS)
        ]
        for chain in self._chains:
            chain.start()

    def _expected(self, block):
        return hashlib.shake_128(f"{self._name} block {block}".encode()).digest(BLOCK)

    def _publish(self, steps):
        struct.pack_into("=Q", self._shared, 8 * self._place, steps)

    def state(self):
        """Return the state of this process's memory."""
        wrong = 0
        for block in range(BLOCKS):
            found, expected = self._pattern[block * BLOCK : (block + 1) * BLOCK], self._expected(block)
            wrong += sum(pair[0] != pair[1] for pair in zip(found, expected, strict=True)) if found != expected else 0
        proofs = [chain.proven() for chain in self._chains]
        return {
            "name": self._name,
            "pid": os.getpid(),
            "wrong_bytes": wrong,
            "steps": [steps for steps, _intact in proofs],
            "broken_chains": sum(not intact for _steps, intact in proofs),
        }


def child(place, shared, channel):
    process = Process(f"child {place}", place, shared)
    while channel.recv(1):
        channel.sendall(json.dumps(process.state()).encode() + b"\n")
    os._exit(0)


def serve():
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    channels = {}
    for place in range(1, CHILDREN + 1):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            child(place, shared, theirs)
        theirs.close()
        channels[pid] = ours
    parent, marks = Process("parent", 0, shared), [new_mark()]
    with socket.create_server(("", ADDRESS[1])) as server:
        while True:
            client, _address = server.accept()
            # A client that only connects, or has gone meanwhile, must not end the service.
            with client, contextlib.suppress(OSError):
                asked = client.makefile().readline().strip()
                print(f"asked for its {asked}", flush=True)
                if asked == "state":
                    said = everybody(parent, channels, shared)
                elif asked == "marks":
                    marks.append(new_mark())
                    said = marks
                else:
                    continue
                client.sendall(json.dumps(said).encode() + b"\n")


def new_mark():
    return os.urandom(8).hex()


def everybody(parent, channels, shared):
    found = [parent.state(), *(ask_child(pid, channel) for pid, channel in channels.items())]
    for place, state in enumerate(found):
        # The other processes' writes are visible here, too.
        state["shared_is_current"] = struct.unpack_from("=Q", shared, 8 * place)[0] >= state.get("steps", [0])[0]
    return found


def ask_child(pid, channel):
    with contextlib.suppress(OSError):
        channel.sendall(b"?")
        said = channel.makefile().readline()
        if said:
            return json.loads(said)
    return {"name": "nobody", "pid": pid, "ended_with": os.waitpid(pid, 0)[1]}


def answer(asked="state"):
    """Return the service's state, or its marks after making a new one; an empty text if it ended without an answer.

    :raises OSError: the service cannot be reached, or does not answer in time.
    """
    with socket.create_connection(ADDRESS, timeout=PATIENCE) as connection:
        connection.sendall(f"{asked}\n".encode())
        return connection.makefile().readline()


def ask():
    print(answer(), end="")


def install():
    shutil.copyfile(__file__, PROGRAM)
    pathlib.Path("/etc/systemd/system/patterns.service").write_text(UNIT, encoding="utf-8")
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "enable", "--now", "--quiet", "patterns.service"], check=True)
    for _second in range(PATIENCE):
        with contextlib.suppress(ConnectionRefusedError):
            return BEFORE.write_text(answer(), encoding="utf-8")
        time.sleep(1)
    sys.exit(f"patterns.service did not answer within {PATIENCE} s of its start.")


def mark():
    marks = json.loads(answer("marks"))
    with MARK.open("w", encoding="utf-8") as stream:
        json.dump({"first": marks[0], "last": marks[-1]}, stream)
        stream.flush()
        os.fsync(stream.fileno())


def judge():
    marked, marks = json.loads(MARK.read_text(encoding="utf-8")), json.loads(answer("marks"))
    states = json.loads(answer())
    wrong = [
        state
        for state in states
        if state.get("wrong_bytes") != 0 or state["broken_chains"] or not state["shared_is_current"]
    ]
    data = "running" if marked["last"] in marks else "checkpoint" if marked["first"] in marks else "fresh"
    print(json.dumps({"data": data, "whole": len(states) == 1 + CHILDREN and not wrong, "wrong": wrong}))


def check():
    before, after = json.loads(BEFORE.read_text(encoding="utf-8")), json.loads(answer() or "[]")
    if [state["name"] for state in after] != [state["name"] for state in before]:
        sys.exit(f"Not every process answered: {before}, then {after}.")
    last = max(max(state["steps"]) for state in before)
    for was, state in zip(before, after, strict=True):
        same = state["pid"] == was["pid"] and len(state["steps"]) == THREADS and min(state["steps"]) > last
        if not same or state["wrong_bytes"] or state["broken_chains"] or not state["shared_is_current"]:
            sys.exit(f"Not all went on from where it was: {before}, then {after}.")
    print(f"{len(after)} processes went on from where they were")


if __name__ == "__main__":
    COMMANDS = {"serve": serve, "ask": ask, "install": install, "check": check, "mark": mark, "judge": judge}
    COMMANDS[sys.argv[1]]()
