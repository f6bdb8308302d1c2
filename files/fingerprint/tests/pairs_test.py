# SPDX-License-Identifier: GPL-3.0-or-later
"""Unix connections between two processes that are taken, made anew and handed out: pairs_test.py PROGRAM

The processes play units. They stand still while their connections are taken, and end before these are made anew. Needs root.
"""

import array
import contextlib
import fcntl
import json
import os
import pwd
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
SO_PEERGROUPS, SO_PEEK_OFF, SO_SNDBUF = 59, 42, socket.SO_SNDBUF
USER = pwd.getpwnam("nobody")
GROUPS = [7, 1000000]
STREAM, SEQPACKET = socket.SOCK_STREAM, socket.SOCK_SEQPACKET


class Player:
    """A process of a unit that has sockets, and does with them what it is told.

    :param before: called in it first, to become another user.
    """

    def __init__(self, sockets=(), before=None):
        self.near, far = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            self.near.close()
            status = 1
            try:
                if before:
                    before()
                self._serve(far, list(sockets))
                status = 0
            finally:
                os._exit(status)
        far.close()

    def _serve(self, far, sockets):
        while line := far.recv(65536):
            self.sockets = sockets
            result = eval(line, {"s": sockets, "socket": socket, "os": os, "array": array, "struct": struct})
            far.sendall(json.dumps(result if isinstance(result, (int, str, list)) else None).encode() + b"\n")

    def do(self, line):
        """What the expression ``line`` is in the process; ``s`` are its sockets."""
        self.near.sendall(line.encode())
        said = b""
        while not said.endswith(b"\n"):
            part = self.near.recv(65536)
            assert part, f"{line} failed in process {self.pid}"
            said += part
        return json.loads(said)

    def inode(self, number=0):
        return self.do(f"os.fstat(s[{number}].fileno()).st_ino")

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

    def end(self):
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.near.close()


def become_nobody():
    os.setgroups(GROUPS)
    os.setresgid(USER.pw_gid, USER.pw_gid, USER.pw_gid)
    os.setresuid(USER.pw_uid, USER.pw_uid, USER.pw_uid)


def credentials(one):
    return struct.unpack("iII", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))


def groups(one):
    return sorted(memoryview(one.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, 1024)).cast("I"))


def drain(one, size=1 << 20):
    one.setblocking(False)
    taken = []
    with contextlib.suppress(BlockingIOError):
        while part := one.recv(size):
            taken.append(part)
    return taken


@unittest.skipUnless(os.geteuid() == 0, "processes with other ids need root")
class Pairs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        os.chmod(self.directory, 0o711)
        os.mkdir(f"{self.directory}/plan", 0o700)
        os.mkdir(f"{self.directory}/run")
        os.chmod(f"{self.directory}/run", 0o777)
        self.path, self.keeper = f"{self.directory}/run/a.sock", f"{self.directory}/keeper"
        self.addCleanup(self.run_program, "end-pairs", self.keeper)

    def run_program(self, *words, **options):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=20, **options)

    def player(self, *arguments, **named):
        one = Player(*arguments, **named)
        self.addCleanup(one.end)
        return one

    def connect(self, name=None, kind=STREAM, before=None, bind=None):
        """Two players: the server, which has listened and accepted, and the client."""
        name = name or self.path
        server = self.player()
        server.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
        server.do(f"s[0].bind({name!r})")
        if name.startswith("/"):
            os.chmod(name, 0o777)
        server.do("s[0].listen(5)")
        client = self.player(before=before)
        client.do(f"s.append(socket.socket(socket.AF_UNIX, {int(kind)}))")
        if bind:
            client.do(f"s[0].bind({bind!r})")
        client.do(f"s[0].connect({name!r})")
        server.do("s.append(s[0].accept()[0])")
        return server, client

    def take(self, *units):
        """:param units: of each its name, its players, and the inodes of what leads out of it"""
        text = ""
        for name, players, inodes in units:
            text += f"unit {name}\n"
            text += "".join(f"process {one.pid}\n" for one in players) + "".join(
                f"socket {inode}\n" for inode in inodes
            )
            for one in players:
                one.stop()
        return self.run_program("take-pairs", f"{self.directory}/plan", input=text)

    def take_both(self, server, client):
        self.inodes = server.inode(1), client.inode()
        done = self.take(("a.service", [server], [self.inodes[0]]), ("b.service", [client], [self.inodes[1]]))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done

    def keep(self, *players):
        for one in players:
            one.end()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        done = self.run_program("keep-pairs", f"{self.directory}/plan", self.keeper)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def join(self, unit):
        """The sockets that CRIU would get, by inode."""
        near, far = socket.socketpair()
        program = (
            "import array, re, socket, sys\n"
            f"far = socket.socket(fileno={far.fileno()})\n"
            "for word in sys.argv[1:]:\n"
            "    found = re.fullmatch(r'fd\\[(\\d+)\\]:socket:\\[(\\d+)\\]', word)\n"
            "    if found:\n"
            "        far.sendmsg([found[2].encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [int(found[1])]))])\n"
            "        far.recv(1)\n"
            "    else: assert word in ('restore', '--inherit-fd'), word\n"
        )
        process = subprocess.Popen(
            [PROGRAM, "join-pairs", self.keeper, unit, sys.executable, "-c", program, "restore"],
            pass_fds=[far.fileno()],
        )
        far.close()
        got = {}
        while True:
            inode, numbers, _flags, _address = socket.recv_fds(near, 64, 1)
            if not inode:
                break
            got[int(inode)] = socket.socket(fileno=numbers[0])
            self.addCleanup(got[int(inode)].close)
            near.sendall(b"x")
        near.close()
        self.assertEqual(process.wait(), 0)
        return got

    def join_both(self):
        return self.join("a.service")[self.inodes[0]], self.join("b.service")[self.inodes[1]]

    def through(self, server, client):
        self.take_both(server, client)
        self.keep(server, client)
        return self.join_both()

    def refused(self, done, said):
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, said)
        self.assertEqual(os.listdir(f"{self.directory}/plan"), [])

    # ---- what is carried ----

    def test_connection(self):
        server, client = self.connect(before=become_nobody)
        server.do("s[1].send(b'from the server')")
        client.do("s[0].send(b'from ') + s[0].send(b'the client')")
        client.do("s[0].setblocking(False)")
        pids = server.pid, client.pid
        done = self.take_both(server, client)
        self.assertEqual(done.stdout, f"a.service {self.inodes[0]}\nb.service {self.inodes[1]}\n")
        for name in ("pairs", "pairs-data"):
            self.assertEqual(stat.S_IMODE(os.stat(f"{self.directory}/plan/{name}").st_mode), 0o600)
        self.keep(server, client)
        self.assertEqual(stat.S_IMODE(os.stat(self.keeper).st_mode), 0o600)
        self.assertEqual(os.listdir(f"{self.directory}/run"), [])
        ours, theirs = self.join_both()
        self.assertEqual((ours.getsockname(), ours.getpeername()), (self.path, ""))
        self.assertEqual((theirs.getsockname(), theirs.getpeername()), ("", self.path))
        self.assertEqual(credentials(ours), (pids[1], USER.pw_uid, USER.pw_gid))
        self.assertEqual(credentials(theirs), (pids[0], 0, 0))
        self.assertEqual(groups(ours), GROUPS)
        self.assertEqual((ours.getblocking(), os.get_blocking(theirs.fileno())), (True, False))
        self.assertEqual(b"".join(drain(ours)), b"from the client")
        self.assertEqual(b"".join(drain(theirs)), b"from the server")
        ours.sendall(b"more")
        self.assertEqual(theirs.recv(9), b"more")
        self.assertEqual(self.run_program("end-pairs", self.keeper).returncode, 0)
        self.assertFalse(os.path.exists(self.keeper))
        theirs.close()
        ours.setblocking(True)
        self.assertEqual(ours.recv(9), b"")

    def test_path_is_no_removed_one(self):
        """CRIU takes a socket whose file is gone for one that was removed."""
        ours, _theirs = self.through(*self.connect())
        number = fcntl.ioctl(ours, 0x89E0)
        self.addCleanup(os.close, number)
        self.assertEqual(os.readlink(f"/proc/self/fd/{number}"), self.path)

    def test_messages(self):
        server, client = self.connect(kind=SEQPACKET)
        client.do("[s[0].send(each) for each in (b'one', b'2' * 70000, b'three')]")
        server.do("[s[1].send(b'x%d' % each) for each in range(100)]")
        ours, theirs = self.through(server, client)
        self.assertEqual(drain(ours), [b"one", b"2" * 70000, b"three"])
        self.assertEqual(drain(theirs), [b"x%d" % each for each in range(100)])

    def test_abstract_name_is_free_again(self):
        name = f"\0kup-{os.getpid()}"
        server, client = self.connect(name=name)
        client.do("s[0].send(b'x')")
        ours, theirs = self.through(server, client)
        self.assertEqual((ours.getsockname(), theirs.getpeername()), (name.encode(), name.encode()))
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(name)

    def test_client_with_a_name(self):
        for name in (f"{self.directory}/run/client.sock", f"\0kup-client-{os.getpid()}"):
            with self.subTest(name=name):
                server, client = self.connect(bind=name, before=become_nobody)
                ours, theirs = self.through(server, client)
                self.assertIn(ours.getpeername(), (name, name.encode()))
                self.assertEqual(theirs.getpeername(), self.path)
                self.assertEqual(credentials(ours)[1], USER.pw_uid)
                ours.close()
                theirs.close()
                self.run_program("end-pairs", self.keeper)

    def test_relative_name(self):
        os.chdir(self.directory)
        self.addCleanup(os.chdir, "/")
        server, client = self.connect(name="run/../run/relative.sock", before=None)
        ours, _theirs = self.through(server, client)
        self.assertEqual(ours.getsockname(), "run/../run/relative.sock")

    def test_long_queue(self):
        server, client = self.connect()
        client.do("s[0].setsockopt(1, 32, 2000000)")
        client.do("s[0].setblocking(False) or s[0].send(bytes(range(256)) * 12000)")
        server.do("s[1].recv(1000) and None")
        default = server.do("s[1].getsockopt(1, 7)")
        ours, theirs = self.through(server, client)
        self.assertEqual(theirs.getsockopt(1, 7), default)
        self.assertEqual(b"".join(drain(ours)), (bytes(range(256)) * 12000)[1000:])

    def test_half_closed(self):
        for how, ends in ((socket.SHUT_WR, True), (socket.SHUT_RD, False)):
            with self.subTest(how=how):
                server, client = self.connect()
                client.do("s[0].send(b'last')")
                server.do("s[1].send(b'back')")
                client.do(f"s[0].shutdown({int(how)})")
                ours, theirs = self.through(server, client)
                self.assertEqual(ours.recv(9), b"last")
                self.assertEqual(theirs.recv(9), b"back")
                reader, writer = (ours, theirs) if ends else (theirs, ours)
                self.assertEqual(reader.recv(9), b"")
                with self.assertRaises(BrokenPipeError):
                    writer.send(b"x")
                if ends:
                    ours.sendall(b"still")
                    self.assertEqual(theirs.recv(9), b"still")
                os.unlink(self.path) if os.path.exists(self.path) else None
                self.run_program("end-pairs", self.keeper)

    def test_closed_end(self):
        for unread in (False, True):
            with self.subTest(unread=unread):
                server, client = self.connect(before=become_nobody)
                client.do("s[0].send(b'last words')")
                if unread:
                    server.do("s[1].send(b'not read')")
                inode, pid = server.inode(1), client.pid
                client.do("s[0].close()")
                done = self.take(("a.service", [server], [inode]), ("b.service", [client], []))
                self.assertEqual((done.returncode, done.stdout), (0, f"a.service {inode}\n"))
                self.keep(server, client)
                ours = self.join("a.service")[inode]
                self.assertEqual(ours.getsockname(), self.path)
                self.assertEqual(credentials(ours)[:2], (pid, USER.pw_uid))
                self.assertEqual(ours.recv(99), b"last words")
                if unread:
                    with self.assertRaises(ConnectionResetError):
                        ours.recv(9)
                self.assertEqual(ours.recv(9), b"")
                self.assertEqual(self.join("b.service"), {})
                self.run_program("end-pairs", self.keeper)

    def test_socketpair(self):
        ends = socket.socketpair()
        one, other = self.player([ends[0]]), self.player([ends[1]])
        one.do(f"os.close({ends[1].fileno()})")
        other.do(f"os.close({ends[0].fileno()})")
        inodes = [one.inode(), other.inode()]
        ends[1].close()
        ends[0].close()
        creator = os.getpid()
        # This process has made it, and lives: a part of a unit it is here.
        text = f"unit a.service\nprocess {one.pid}\nprocess {creator}\nsocket {inodes[0]}\n"
        text += f"unit b.service\nprocess {other.pid}\nsocket {inodes[1]}\n"
        one.do("s[0].send(b'x')")
        done = self.run_program("take-pairs", f"{self.directory}/plan", input=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # It cannot have this one's id.
        done = self.run_program("keep-pairs", f"{self.directory}/plan", self.keeper)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"of a\.service cannot be made by a process like that of before: File exists")
        self.assertFalse(os.path.exists(self.keeper))
        with open(f"{self.directory}/plan/pairs") as file:
            text = file.read().replace(f" {creator} 1 ", f" {creator} 0 ")
        with open(f"{self.directory}/plan/pairs", "w") as file:
            file.write(text)
        self.inodes = inodes
        self.keep(one, other)
        ours, theirs = self.join_both()
        self.assertEqual((ours.getsockname(), theirs.getsockname()), ("", ""))
        self.assertEqual(theirs.recv(9), b"x")
        self.assertEqual(credentials(ours)[1:], (0, 0))

    def test_many(self):
        server = self.player()
        server.do("s.append(socket.socket(socket.AF_UNIX))")
        server.do(f"s[0].bind({self.path!r}) or s[0].listen(100)")
        client = self.player()
        for _each in range(300):
            client.do("s.append(socket.socket(socket.AF_UNIX))")
            client.do(f"s[-1].connect({self.path!r})")
            server.do("s.append(s[0].accept()[0])")
        client.do("[each.send(b'%d' % number) for number, each in enumerate(s)]")
        theirs, ours = (
            one.do(f"[os.fstat(each.fileno()).st_ino for each in s[{first}:]]")
            for one, first in ((client, 0), (server, 1))
        )
        done = self.take(("a.service", [server], ours), ("b.service", [client], theirs))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.keep(server, client)
        got = self.join("a.service")
        self.assertEqual([got[inode].recv(9) for inode in ours], [b"%d" % number for number in range(300)])

    def test_same_open_file(self):
        """Two that take an end have the same open file, as two units may."""
        ours, _theirs = self.through(*self.connect())
        again = self.join("a.service")[self.inodes[0]]
        ours.setblocking(False)
        self.assertFalse(os.get_blocking(again.fileno()))

    def test_shared_end(self):
        server, client = self.connect()
        third = self.player()
        third.do(f"__import__('ctypes').CDLL(None).syscall(438, os.pidfd_open({client.pid}), 4, 0)")
        inodes = server.inode(1), client.inode()
        done = self.take(
            ("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]), ("c.service", [third], inodes[1:])
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[1:], [f"b.service {inodes[1]}", f"c.service {inodes[1]}"])
        self.keep(server, client, third)
        self.assertEqual(self.join("b.service").keys(), self.join("c.service").keys())

    def test_peek_offset_is_put_back(self):
        server, client = self.connect()
        client.do("s[0].send(b'0123456789')")
        server.do(f"s[1].setsockopt(1, {SO_PEEK_OFF}, 4)")
        self.take_both(server, client)
        os.kill(server.pid, signal.SIGCONT)
        self.assertEqual(server.do(f"s[1].getsockopt(1, {SO_PEEK_OFF})"), 4)
        self.assertEqual(server.do("s[1].recv(99).decode()"), "0123456789")

    # ---- what is refused ----

    def test_other_end_is_not_carried(self):
        server, client = self.connect()
        done = self.take(("a.service", [server], [server.inode(1)]))
        self.refused(
            done,
            rf"A unix connection of a\.service \({self.path}, descriptor \d+ of process {server.pid}\) leads to a process",
        )
        os.kill(client.pid, 0)

    def test_other_end_was_not_seen(self):
        server, client = self.connect()
        done = self.take(("a.service", [server], [server.inode(1)]), ("b.service", [client], []))
        self.refused(done, r"A unix connection of b\.service .* was not whole when the unit was dumped")

    def test_waiting_connection(self):
        server, client = self.connect()
        inodes = server.inode(1), client.inode()
        client.do("s.append(socket.socket(socket.AF_UNIX))")
        client.do(f"s[1].connect({self.path!r})")
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, rf"A connection of b\.service to a\.service \({self.path}\) waits to be accepted")

    def test_passed_descriptor(self):
        server, client = self.connect()
        client.do("s[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])")
        inodes = server.inode(1), client.inode()
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, r"of a\.service .* has unread data with descriptors or credentials in it")

    def test_signals(self):
        server, client = self.connect()
        inodes = server.inode(1), client.inode()
        client.do(f"__import__('fcntl').fcntl(s[0], 8, {client.pid})")
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, r"of b\.service .* sends signals")

    def test_creator_is_not_carried(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.path)
        listener.listen(5)
        server, client = self.player([listener]), self.player()
        client.do("s.append(socket.socket(socket.AF_UNIX))")
        client.do(f"s[0].connect({self.path!r})")
        server.do("s.append(s[0].accept()[0])")
        inodes = server.inode(1), client.inode()
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, rf"of b\.service .* was made by process {os.getpid()}, which is not carried")

    def test_empty_message(self):
        server, client = self.connect(kind=SEQPACKET)
        client.do("s[0].sendmsg([b''])")
        inodes = server.inode(1), client.inode()
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, r"of a\.service .* has an empty message")

    def test_urgent_data(self):
        server, client = self.connect()
        with contextlib.suppress(OSError):
            client.do("s[0].send(b'x', socket.MSG_OOB)")
        if client.do("1") is None:
            self.skipTest("this kernel has no urgent data of unix sockets")
        inodes = server.inode(1), client.inode()
        done = self.take(("a.service", [server], inodes[:1]), ("b.service", [client], inodes[1:]))
        self.refused(done, r"of a\.service .* has urgent data")

    def test_no_pairs(self):
        server, client = self.connect()
        with open(f"{self.directory}/plan/pairs", "w") as file:
            file.write("of another time\n")
        done = self.take(("a.service", [server], []), ("b.service", [client], []))
        self.assertEqual((done.returncode, done.stdout, os.listdir(f"{self.directory}/plan")), (0, "", []))

    def test_broken_list(self):
        for text in (
            "socket 1\n",
            "unit a\nsocket 0\n",
            "unit a b\n",
            "unit a/b\n",
            "unit a\nprocess x\n",
            "unit a",
            "unit " + "a" * 400 + "\n",
        ):
            with self.subTest(text=text):
                done = self.run_program("take-pairs", f"{self.directory}/plan", input=text)
                self.refused(done, "of what is carried is not")

    def test_directory_of_others(self):
        os.chmod(f"{self.directory}/plan", 0o755)
        done = self.run_program("take-pairs", f"{self.directory}/plan", input="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("mode 755", done.stderr)

    # ---- the keeper ----

    def test_keeper_has_ended(self):
        self.take_both(*(both := self.connect()))
        self.keep(*both)
        with open(self.keeper) as file:
            pid = int(file.read().split()[3])
        holder = os.pidfd_open(pid)
        self.addCleanup(os.close, holder)
        signal.pidfd_send_signal(holder, signal.SIGKILL)
        self.assertTrue(select.select([holder], [], [], 20)[0])
        done = self.run_program("join-pairs", self.keeper, "a.service", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"Process {pid}, which has held the unix connections of a\.service, has ended")
        self.assertEqual(self.run_program("end-pairs", self.keeper).returncode, 0)
        self.assertEqual(self.run_program("end-pairs", self.keeper).returncode, 0)

    def test_keeper_holds_nothing_else(self):
        self.take_both(*(both := self.connect()))
        for one in both:
            one.end()
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        done = self.run_program("keep-pairs", f"{self.directory}/plan", self.keeper, pass_fds=[writer])
        os.close(writer)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(os.read(reader, 1), b"")
        with open(self.keeper) as file:
            pid = file.read().split()[3]
        with open(f"/proc/{pid}/mountinfo") as file:
            self.assertEqual([line.split()[4] for line in file], ["/"])
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        self.assertEqual([link for link in links if not link.startswith(("socket:", "/null", "/dev/null"))], [])

    def test_other_process_with_its_id(self):
        player = self.player()
        with open(self.keeper, "w") as file:
            file.write(f"kup-keeper 1\nkeeper {player.pid} 1\nend a.service 5 0\n")
        self.assertEqual(self.run_program("join-pairs", self.keeper, "a.service", "true").returncode, 1)
        self.assertEqual(self.run_program("end-pairs", self.keeper).returncode, 0)
        self.assertEqual(player.do("1"), 1)

    def test_end_that_nobody_took(self):
        server, client = self.connect()
        client.do("s[0].send(b'last')")
        self.take_both(server, client)
        self.keep(server, client)
        ours = self.join("a.service")[self.inodes[0]]
        self.assertEqual(ours.recv(9), b"last")
        self.assertEqual(self.run_program("end-pairs", self.keeper).returncode, 0)
        self.assertEqual(ours.recv(9), b"")
        with self.assertRaises(BrokenPipeError):
            ours.send(b"x")

    def test_damaged_files(self):
        self.take_both(*(both := self.connect()))
        with open(f"{self.directory}/plan/pairs") as file:
            text = file.read()
        for one in both:
            one.end()
        lines = text.splitlines(keepends=True)
        for broken in (
            "",
            text[:-1],
            "".join(lines[:-2]),
            text.replace("pair 1", "pair 2"),
            text + "odd 1\n",
            text.replace("kup-pairs 1", "kup-pairs 2"),
        ):
            with self.subTest(broken=broken):
                with open(f"{self.directory}/plan/pairs", "w") as file:
                    file.write(broken)
                done = self.run_program("keep-pairs", f"{self.directory}/plan", self.keeper)
                self.assertEqual(done.returncode, 1)
                self.assertFalse(os.path.exists(self.keeper))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
