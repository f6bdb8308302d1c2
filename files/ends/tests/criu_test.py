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


ASKED = "struct.unpack('iII', s[{}].getsockopt(1, 17, 12))"


class Pair:
    """Two trees with connections between them: made, dumped, restored and compared."""

    def __init__(self, place, program, plugins, criu):
        self.program, self.plugins, self.criu = program, plugins, criu
        self.plan, self.keeper = Path(place) / "plan", Path(place) / "keeper"
        self.plan.mkdir(mode=0o700)
        self.path = f"{place}/listener.sock"
        self.spelled = repr(self.path), repr(f"\0abstract-{os.getpid()}")
        self.server, self.client = self.trees = Tree("server", place), Tree("client", place)

    def listen(self):
        for number, (kind, name) in enumerate(zip((STREAM, SEQPACKET), self.spelled, strict=True)):
            self.server.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
            self.server.do(f"s[{number}].bind({name})")
            self.server.do(f"s[{number}].listen(9)")
        self.names = [self.server.do(f"s[{number}].getsockname()") for number in (0, 1)]

    def connect(self, listener):
        kind = SEQPACKET if listener else STREAM
        self.client.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
        self.client.do(f"s[-1].connect({self.spelled[listener]})")
        self.server.do(f"s.append(s[{listener}].accept()[0])")

    def fill(self):
        """Idle, unread both ways, half closed, messages, closed meanwhile."""
        for listener in (0, 0, 0, 1, 0):
            self.connect(listener)
        self.client.do("s[1].send(b'to the server')")
        self.server.do("s[3].send(b'to the client')")
        self.client.do("s[2].send(b'last')")
        self.client.do("s[2].shutdown(socket.SHUT_WR)")
        self.client.do("[s[3].send(b'm%d' % each) for each in range(9)]")
        self.client.do("s[0].setblocking(False)")
        self.inodes = {one: one.do("[os.fstat(each.fileno()).st_ino for each in s]") for one in self.trees}
        self.server.fork()
        self.client.fork()
        self.noted = (
            [self.server.do(ASKED.format(number)) for number in range(2, 7)],
            [self.client.do(ASKED.format(number)) for number in range(5)],
        )
        equal([each[0] for each in self.noted[0]], [self.client.pids[0]] * 5, "the server's peer")

    def dump(self, one, then):
        checked(
            run(*self.criu, "dump", "--tree", one.pids[0], "--images-dir", one.images, "--log-file", "dump.log", "-v4", then,
                "--libdir", self.plugins),
            one.images / "dump.log",
        )  # fmt: skip

    def take(self):
        begin = time.monotonic()
        self.dump(self.client, "--leave-stopped")
        self.server.do("s[6].send(b'lost') and s[6].close()")
        self.server.do("s[6].close()", worker=True)
        self.dump(self.server, "--leave-stopped")
        print(f"dumps: {time.monotonic() - begin:.2f} s")
        text = ""
        for one, wanted in ((self.client, self.inodes[self.client][:5]), (self.server, self.inodes[self.server][2:6])):
            noted = (one.images / "pairs").read_text().split()
            equal(sorted(map(int, noted)), sorted(wanted), f"what leads out of {one.name}")
            text += f"unit {one.name}\n" + "".join(f"process {pid}\n" for pid in one.pids)
            text += "".join(f"socket {inode}\n" for inode in noted)
        begin = time.monotonic()
        checked(run(self.program, "take-pairs", self.plan, input=text))
        print(f"take-pairs: {(time.monotonic() - begin) * 1000:.0f} ms")
        for one in self.trees:
            one.kill()

    def restore(self):
        begin = time.monotonic()
        checked(run(self.program, "keep-pairs", self.plan, self.keeper))
        print(f"keep-pairs: {(time.monotonic() - begin) * 1000:.0f} ms")
        for one in self.trees:
            checked(
                run(self.program, "join-pairs", self.keeper, one.name, *self.criu, "restore", "--images-dir", one.images,
                    "--log-file", "restore.log", "-v4", "--restore-detached", stdin=subprocess.DEVNULL),
                one.images / "restore.log",
            )  # fmt: skip
        checked(run(self.program, "end-pairs", self.keeper))

    def compare_ends(self):
        server, client, paths = self.server, self.client, [self.path] * 3 + [self.names[1]]
        equal(
            [server.do(ASKED.format(number)) for number in range(2, 6)], self.noted[0][:4], "the server's peer after it"
        )
        equal([client.do(ASKED.format(number)) for number in range(5)], self.noted[1], "the client's peer after it")
        equal(server.do("[each.getsockname() for each in s[2:6]]"), paths, "the server's names")
        equal(client.do("[each.getpeername() for each in s[:4]]"), paths, "the client's peers")
        equal(client.do("[os.get_blocking(each.fileno()) for each in s]"), [False] + [True] * 4, "what blocks")

    def compare_queues(self):
        server, client = self.trees
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

    def go_on(self):
        # The listener is the restored one.
        self.connect(0)
        self.client.do("s[-1].send(b'new')")
        equal(self.server.do("s[-1].recv(9)"), "new", "a new connection")
        running = run("ps", "-eo", "stat,comm").stdout
        equal(re.findall(r"^[^Z].*(criu|fingerprint)", running, re.MULTILINE), [], "what still runs")
        # Once more: these sockets have come from the keeper.
        for one in (self.client, self.server):
            (one.images / "pairs").unlink()
            self.dump(one, "--leave-running")
            os.kill(one.pids[0], 0)

    def end(self):
        for one in self.trees:
            for pid in one.pids:
                os.kill(pid, signal.SIGKILL)


def main(program, plugins, *criu):
    checked(run("ip", "link", "set", "lo", "up"))
    # Process ids that a new boot does not use before the restore.
    Path("/proc/sys/kernel/ns_last_pid").write_text("20000")
    with tempfile.TemporaryDirectory() as place:
        pair = Pair(place, program, plugins, criu or ("criu",))
        pair.listen()
        pair.fill()
        pair.take()
        pair.restore()
        pair.compare_ends()
        pair.compare_queues()
        pair.go_on()
        pair.end()
    print("all as before")


if __name__ == "__main__":
    if os.environ.get("CRIU_TEST") != "inside":
        words = ["unshare", "--pid", "--mount", "--net", "--fork", "--mount-proc", sys.executable, *sys.argv]
        sys.exit(subprocess.run(words, env=dict(os.environ, CRIU_TEST="inside"), check=False).returncode)
    main(*sys.argv[1:])
