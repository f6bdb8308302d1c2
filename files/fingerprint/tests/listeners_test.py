# SPDX-License-Identifier: GPL-3.0-or-later
"""Unix listeners that have become root's get their user again: listeners_test.py PROGRAM

A restore is played: the process itself calls listen(2) again while it is root, as CRIU's own child does.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
NOBODY = 65534
PEERGROUPS = 59
# It has a listener, and does what is written on its standard input.
SERVER = f"""
import os, socket, sys
one = socket.socket(socket.AF_UNIX)
one.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
for line in sys.stdin:
    word, _space, number = line.strip().partition(" ")
    if word == "root":
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])
    elif word == "user":
        os.setgroups([int(number)])
        os.setegid({NOBODY})
        os.seteuid({NOBODY})
    elif word == "listen":
        one.listen(int(number))
    elif word == "accept":
        for _number in range(int(number)):
            one.accept()[0].close()
    elif word == "child":
        child = os.fork()
        if not child:
            one.listen(int(number))
            os._exit(0)
        os.waitpid(child, 0)
    print("done", flush=True)
"""


class Server:
    def __init__(self, path, before=()):
        words = [*before, sys.executable, "-c", SERVER, path]
        self.path = path
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def tell(self, *lines):
        for line in lines:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n", line

    def seen(self):
        """Return process, user, group and groups that a client is told of."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path)
            noted = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return (*noted, list(memoryview(client.getsockopt(socket.SOL_SOCKET, PEERGROUPS, 64)).cast("I")))

    def room(self):
        """Return how many clients can wait."""
        clients = []
        try:
            while True:
                clients.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
                clients[-1].connect(self.path)
        except BlockingIOError:
            return len(clients) - 1
        finally:
            for each in clients:
                each.close()

    def end(self):
        self.process.kill()
        self.process.communicate()


class Listeners(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        os.chmod(place.name, 0o755)
        self.path, self.file = f"{place.name}/socket", f"{place.name}/record"

    def start(self, before=()):
        server = Server(self.path, before)
        self.addCleanup(server.end)
        return server

    def record(self, server):
        done = subprocess.run([PROGRAM, "record", str(server.pid)], capture_output=True, text=True, check=True)
        with open(self.file, "w", encoding="ascii") as stream:
            stream.write(done.stdout)
        return done.stdout.count("\nlistener ")

    def put_right(self, server):
        """Return what is told of listeners."""
        os.kill(server.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, server.pid, os.WSTOPPED)
        done = subprocess.run([PROGRAM, "put-right", self.file], capture_output=True, text=True, check=False)
        os.kill(server.pid, signal.SIGCONT)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if "listen" in line]

    def lose(self, server):
        server.tell("user 7", "listen 30")
        before = server.seen()
        self.assertEqual(before, (server.pid, NOBODY, NOBODY, [7]))
        self.assertEqual(self.record(server), 1)
        self.assertEqual(self.put_right(server), [])
        self.assertEqual(server.seen(), before)
        server.tell("root", "listen 30")
        self.assertEqual(server.seen()[1:], (0, 0, []))
        return before

    def test_the_process_itself_listens_again(self):
        server = self.start()
        before = self.lose(server)
        server.tell("user 7")
        self.assertEqual(self.put_right(server), [])
        self.assertEqual(server.seen(), before)

    def test_one_that_has_changed_its_user_is_played(self):
        for then in ("root", "user 8"):
            with self.subTest(then):
                server = self.start()
                before = self.lose(server)
                server.tell(then)
                self.assertEqual(self.put_right(server), [])
                self.assertEqual(server.seen()[1:], before[1:])
                server.end()
                os.unlink(self.path)

    def test_one_whose_process_has_ended_is_played(self):
        server = self.start()
        server.tell("user 7", "child 30")
        before = server.seen()
        self.assertNotEqual(before[0], server.pid)
        self.assertEqual(self.record(server), 1)
        server.tell("root", "listen 30", "user 7")
        self.assertEqual(self.put_right(server), [])
        self.assertEqual(server.seen(), before)

    def test_as_many_clients_can_wait_as_before(self):
        for before in ((), ("unshare", "--net")):
            with self.subTest(before):
                server = self.start(before)
                server.tell("user 7", "listen 3")
                self.record(server)
                self.assertEqual(server.room(), 4)
                server.tell("accept 4", "root", "listen 3", "user 7")
                self.assertEqual(server.seen()[1], 0)
                server.tell("accept 1")
                self.assertEqual(self.put_right(server), [])
                self.assertEqual(server.room(), 4)
                server.tell("accept 4")
                self.assertEqual(server.seen()[1], NOBODY)
                server.end()
                os.unlink(self.path)

    def test_what_root_listens_to_and_what_does_not_listen_needs_nothing(self):
        server = self.start()
        server.tell("user 7")
        self.assertEqual(self.record(server), 0)
        server.tell("root", "listen 1")
        self.assertEqual(self.record(server), 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
