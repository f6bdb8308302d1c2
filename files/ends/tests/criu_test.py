# SPDX-License-Identifier: GPL-3.0-or-later
"""Two trees with connections between them, dumped and restored by the installed CRIU: criu_test.py PROGRAM PLUGIN-DIRECTORY [CRIU-WORD...]

It runs in namespaces of its own, as root.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STREAM, SEQPACKET = socket.SOCK_STREAM, socket.SOCK_SEQPACKET
# A tree: the first process and a worker, each of which does what its file says. ``s`` are the sockets.
PLAYER = """
import json, os, socket, struct, sys, time
name, place = sys.argv[1:]
os.setsid()
os.chdir(place)
s = []
def serve(name):
    while True:
        if not os.path.exists(name + ".do"):
            time.sleep(0.01)
            continue
        with open(name + ".do") as file:
            line = file.read()
        os.unlink(name + ".do")
        if line == "fork":
            result = os.fork()
            if not result:
                name += "-worker"
                continue
        else:
            try:
                result = eval(line)
            except Exception as error:
                result = repr(error)
        result = list(result) if isinstance(result, (list, tuple)) else result
        with open(name + ".new", "w") as file:
            json.dump(result, file, default=lambda value: value.decode("latin1") if isinstance(value, bytes) else repr(value))
        os.rename(name + ".new", name + ".done")
serve(name)
"""


class Tree:
    """A tree that plays the unit ``name`` in the directory ``place``."""

    def __init__(self, name, place):
        self.name, self.place = name, Path(place)
        self.images = self.place / f"images-{name}"
        self.images.mkdir(mode=0o700)
        process = subprocess.Popen(
            [sys.executable, "-c", PLAYER, name, place],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.process, self.pids = process, [process.pid]

    def do(self, line, worker=False):
        name = self.place / (f"{self.name}-worker" if worker else self.name)
        draft = name.with_suffix(".draft")
        draft.write_text(line)
        draft.rename(name.with_suffix(".do"))
        deadline = time.monotonic() + 20
        while not name.with_suffix(".done").exists():
            assert time.monotonic() < deadline, f"{self.name} does not answer: {line}"
            time.sleep(0.01)
        result = json.loads(name.with_suffix(".done").read_text())
        name.with_suffix(".done").unlink()
        return result

    def fork(self):
        self.pids.append(self.do("fork"))

    def kill(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + 20
        while any(os.path.exists(f"/proc/{pid}") for pid in self.pids):
            assert time.monotonic() < deadline
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
            time.sleep(0.01)


def checked(done, log=None):
    if done.returncode:
        print(done.stdout, done.stderr)
        if log and log.exists():
            print("\n".join(log.read_text(errors="replace").splitlines()[-25:]))
        sys.exit(f"{done.args[:3]}... has ended with {done.returncode}")
    return done


def run(*words, **options):
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=120, **options
    )


def equal(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what} is {found!r}, expected {wanted!r}")


class Proof:
    """Connections between two trees, as they are before and after."""

    def __init__(self, place, program, plugins, criu):
        self.program, self.plugins, self.criu = program, plugins, criu
        self.plan, self.keeper = Path(place) / "plan", Path(place) / "keeper"
        self.plan.mkdir(mode=0o700)
        self.path = f"{place}/listener.sock"
        self.server, self.client = Tree("server", place), Tree("client", place)
        self.spelled = repr(self.path), repr(f"\0abstract-{os.getpid()}")
        self.names, self.inodes, self.noted = [], {}, ()

    def connect(self, listener):
        kind = SEQPACKET if listener else STREAM
        self.client.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
        self.client.do(f"s[-1].connect({self.spelled[listener]})")
        self.server.do(f"s.append(s[{listener}].accept()[0])")

    def makers(self, tree, numbers):
        return [tree.do(f"struct.unpack('iII', s[{number}].getsockopt(1, 17, 12))") for number in numbers]

    def make(self):
        server, client = self.server, self.client
        for number, (kind, name) in enumerate(zip((STREAM, SEQPACKET), self.spelled, strict=True)):
            server.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
            server.do(f"s[{number}].bind({name})")
            server.do(f"s[{number}].listen(9)")
        self.names = [server.do(f"s[{number}].getsockname()") for number in (0, 1)]
        # idle, unread both ways, half closed, messages, closed meanwhile
        for listener in (0, 0, 0, 1, 0):
            self.connect(listener)
        client.do("s[1].send(b'to the server')")
        server.do("s[3].send(b'to the client')")
        client.do("s[2].send(b'last')")
        client.do("s[2].shutdown(socket.SHUT_WR)")
        client.do("[s[3].send(b'm%d' % each) for each in range(9)]")
        client.do("s[0].setblocking(False)")
        self.inodes = {one: one.do("[os.fstat(each.fileno()).st_ino for each in s]") for one in (server, client)}
        server.fork()
        client.fork()
        self.noted = self.makers(server, range(2, 7)), self.makers(client, range(5))
        equal([each[0] for each in self.noted[0]], [client.pids[0]] * 5, "the server's peer")

    def dump(self, tree, how):
        words = ("--images-dir", tree.images, "--log-file", "dump.log", "-v4", how, "--libdir", self.plugins)
        checked(run(*self.criu, "dump", "--tree", tree.pids[0], *words), tree.images / "dump.log")

    def take(self):
        server, client = self.server, self.client
        begin = time.monotonic()
        self.dump(client, "--leave-stopped")
        server.do("s[6].send(b'lost') and s[6].close()")
        server.do("s[6].close()", worker=True)
        self.dump(server, "--leave-stopped")
        print(f"dumps: {time.monotonic() - begin:.2f} s")
        wanted = self.inodes[client][:5], self.inodes[server][2:6]
        text = ""
        for one, inodes in zip((client, server), wanted, strict=True):
            listed = (one.images / "pairs").read_text().split()
            equal(sorted(map(int, listed)), sorted(inodes), f"what leads out of {one.name}")
            text += f"unit {one.name}\n" + "".join(f"process {pid}\n" for pid in one.pids)
            text += "".join(f"socket {inode}\n" for inode in listed)
        begin = time.monotonic()
        checked(run(self.program, "take-pairs", self.plan, input=text))
        print(f"take-pairs: {(time.monotonic() - begin) * 1000:.0f} ms")

    def restore(self):
        begin = time.monotonic()
        checked(run(self.program, "keep-pairs", self.plan, self.keeper))
        print(f"keep-pairs: {(time.monotonic() - begin) * 1000:.0f} ms")
        for one in (self.server, self.client):
            words = ("--images-dir", one.images, "--log-file", "restore.log", "-v4", "--restore-detached")
            done = run(
                self.program,
                "join-pairs",
                self.keeper,
                one.name,
                *self.criu,
                "restore",
                *words,
                stdin=subprocess.DEVNULL,
            )
            checked(done, one.images / "restore.log")
        checked(run(self.program, "end-pairs", self.keeper))

    def compare(self):
        server, client, names = self.server, self.client, [self.path] * 3 + [self.names[1]]
        equal(self.makers(server, range(2, 6)), self.noted[0][:4], "the server's peer after it")
        equal(self.makers(client, range(5)), self.noted[1], "the client's peer after it")
        equal(server.do("[each.getsockname() for each in s[2:6]]"), names, "the server's names")
        equal(client.do("[each.getpeername() for each in s[:4]]"), names, "the client's peers")
        equal(client.do("[os.get_blocking(each.fileno()) for each in s]"), [False] + [True] * 4, "what blocks")
        equal(server.do("s[3].recv(99)", worker=True), "to the server", "what the server reads")
        equal(client.do("s[1].recv(99)"), "to the client", "what the client reads")
        equal(server.do("[s[4].recv(99), s[4].recv(99)]"), ["last", ""], "what is half closed")
        server.do("s[4].send(b'still')")
        equal(client.do("s[2].recv(99)"), "still", "the other half")
        equal(server.do("[s[5].recv(99) for each in range(9)]"), [f"m{each}" for each in range(9)], "messages")
        equal(client.do("[s[4].recv(99), s[4].recv(99)]"), ["lost", ""], "what the server has closed")
        client.do("s[0].send(b'ping')", worker=True)
        equal(server.do("s[2].recv(9)"), "ping", "the idle connection")
        server.do("s[2].send(b'pong')", worker=True)
        equal(client.do("s[0].recv(9)"), "pong", "the idle connection's way back")
        # The listener is the restored one.
        self.connect(0)
        client.do("s[-1].send(b'new')")
        equal(server.do("s[-1].recv(9)"), "new", "a new connection")
        running = re.findall(r"^[^Z].*(criu|fingerprint)", run("ps", "-eo", "stat,comm").stdout, re.MULTILINE)
        equal(running, [], "what still runs")


def main(program, plugins, *criu):
    checked(run("ip", "link", "set", "lo", "up"))
    # Process ids that a new boot does not use before the restore.
    Path("/proc/sys/kernel/ns_last_pid").write_text("20000")
    with tempfile.TemporaryDirectory() as place:
        proof = Proof(place, program, plugins, criu or ("criu",))
        proof.make()
        proof.take()
        both = proof.server, proof.client
        for one in both:
            one.kill()
        proof.restore()
        proof.compare()
        # Once more: these sockets have come from the keeper.
        for one in both:
            (one.images / "pairs").unlink()
            proof.dump(one, "--leave-running")
        for pid in [pid for one in both for pid in one.pids]:
            os.kill(pid, signal.SIGKILL)
        print("all as before")


if __name__ == "__main__":
    if os.environ.get("CRIU_TEST") != "inside":
        words = ["unshare", "--pid", "--mount", "--net", "--fork", "--mount-proc", sys.executable, *sys.argv]
        sys.exit(subprocess.run(words, env=dict(os.environ, CRIU_TEST="inside"), check=False).returncode)
    main(*sys.argv[1:])
