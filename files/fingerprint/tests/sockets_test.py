# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets whose options and memberships are lost, and put right: sockets_test.py PROGRAM

A restore is played: each socket is replaced by a plain one of the same kind, at the same number and with the same ends.
"""

import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
GROUP, GROUP6 = "239.9.9.9", "ff15::9"
LOOPBACK = socket.if_nametoindex("lo")

# (level, number, value) that a plain socket does not have. Those that this kernel or user may not set are left out.
TCP = [
    *(
        (1, 9, 1),
        (1, 12, 5),
        (1, 36, 7),
        (1, 13, struct.pack("ii", 1, 0)),
        (1, 47, struct.pack("Q", 1000000)),
        (1, 21, struct.pack("qq", 3, 0)),
    ),
    *((0, 1, 16), (0, 10, 2), (0, 15, 1), (0, 19, 1), (0, 21, 200), (0, 24, 1)),
    *(
        (6, 1, 1),
        (6, 4, 77),
        (6, 5, 7),
        (6, 6, 5),
        (6, 7, 3),
        (6, 8, 11),
        (6, 13, b"reno"),
        (6, 18, 30000),
        (6, 25, 16384),
        (6, 44, 60000),
        (6, 45, 40000),
        (6, 46, 40000),
    ),
]
LISTENER = [*TCP, (6, 2, 1000), (6, 9, 3), (6, 23, 16), (6, 27, 1), (0, 50, struct.pack("!I", LOOPBACK))]
UDP = [
    *((1, 6, 1), (1, 35, 1), (1, 33, 65536), (1, 25, b"lo"), (1, 82, 1)),
    *(
        (0, 8, 1),
        (0, 10, 3),
        (0, 11, 1),
        (0, 12, 1),
        (0, 33, 9),
        (0, 34, 0),
        (0, 49, 0),
        (0, 32, socket.inet_aton("127.0.0.1")),
    ),
    *((17, 103, 500), (17, 104, 1)),
]
UDP6 = [(41, 17, LOOPBACK), (41, 18, 4), (41, 49, 1), (41, 66, 1), (41, 67, 32), (41, 29, 0), (0, 10, 2)]


def run(*words, before=(), kernel=None):
    return subprocess.run([*before, PROGRAM, *words], capture_output=True, text=True, preexec_fn=kernel, check=False)


def forget(level, *numbers, error=errno.ENOPROTOOPT):
    """Have this process and those that it starts run on a kernel that does not know these options, as seccomp(2) can play it."""

    def instruction(code, value, equal=0, other=0):
        return struct.pack("HBBI", code, equal, other, value)

    load, jump_if_equal, return_ = 0x20, 0x15, 0x06
    system_calls = (55, 54) if platform.machine() == "x86_64" else (209, 208)  # getsockopt, setsockopt
    allow, refuse = 0x7FFF0000, 0x00050000 | error
    # struct seccomp_data: the number of the system call, and the low halves of the second and third argument
    program = [
        instruction(load, 0),
        instruction(jump_if_equal, system_calls[0], 1),
        instruction(jump_if_equal, system_calls[1], 0, 3 + len(numbers)),
        instruction(load, 24),
        instruction(jump_if_equal, level, 0, 1 + len(numbers)),
        instruction(load, 32),
        *(instruction(jump_if_equal, number, len(numbers) - at) for at, number in enumerate(numbers)),
        instruction(return_, allow),
        instruction(return_, refuse),
    ]
    text = ctypes.create_string_buffer(b"".join(program))
    filter_ = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    assert not libc.prctl(38, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS"
    assert not libc.prctl(22, 2, filter_, 0, 0), "PR_SET_SECCOMP"


def options(one, wanted):
    """What the socket has of these."""
    return [one.getsockopt(level, 8 if (level, number) == (1, 33) else number, 64) for level, number, _value in wanted]


class Sockets(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = f"{directory.name}/record"
        self.sockets = []

    def make(self, *kind):
        one = socket.socket(*kind)
        self.addCleanup(one.close)
        return one

    def set(self, one, wanted):
        done = []
        for each in wanted:
            try:
                one.setsockopt(*each)
            except OSError as error:
                print(f"left out here: option {each}: {error}")
            else:
                done.append(each)
        return done

    def record(self):
        done = run("record", str(os.getpid()))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(done.stdout)
        return done.stdout

    def put_right(self, **how):
        done = run("put-right", self.path, **how)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def replace(self, old, *kind):
        """Play CRIU: another socket of this kind at the same place."""
        name = old.getsockname()
        with socket.socket(*kind) as new:
            new.setsockopt(1, 2, 1)
            old.setsockopt(1, 2, 1)
            old.close()
            new.bind(name)
            os.dup2(new.fileno(), self.number)
        plain = socket.socket(*kind, fileno=self.number)
        self.addCleanup(plain.close)
        return plain

    def lose(self, kind, wanted, listen=False):
        one = self.make(*kind)
        wanted = self.set(one, wanted)
        self.assertTrue(wanted)
        one.bind(("::1" if kind[0] == socket.AF_INET6 else "127.0.0.1", 0))
        if listen:
            one.listen()
        self.number, before = one.fileno(), options(one, wanted)
        self.record()
        self.assertEqual(self.put_right(), (0, []))
        plain = self.replace(one, *kind)
        if listen:
            plain.listen()
        self.assertNotEqual(options(plain, wanted), before)
        plain.setsockopt(1, 2, 0)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(options(plain, wanted), before)
        self.assertEqual(self.put_right(), (0, []))

    def test_a_listener(self):
        self.lose((socket.AF_INET, socket.SOCK_STREAM), LISTENER, listen=True)

    def test_a_datagram_socket(self):
        self.lose((socket.AF_INET, socket.SOCK_DGRAM), UDP)

    def test_a_datagram_socket_of_ipv6(self):
        self.lose((socket.AF_INET6, socket.SOCK_DGRAM), UDP6)

    def connect(self):
        listener = self.make(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(1, 2, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client = self.make(socket.AF_INET, socket.SOCK_STREAM)
        client.connect(listener.getsockname())
        server, _peer = listener.accept()
        self.addCleanup(server.close)
        return client, server

    def test_a_netlink_socket(self):
        one = self.make(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        wanted = self.set(
            one, [(270, 3, 1), (270, 4, 1), (270, 5, 1), (270, 10, 1), (270, 11, 1), (1, 37, 0x10), (1, 12, 3)]
        )
        before = options(one, wanted)
        self.record()
        for level, number, _value in wanted:
            one.setsockopt(level, number, 0)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(options(one, wanted), before)

    def test_a_connection(self):
        client, _server = self.connect()
        plain = options(client, TCP)
        wanted = self.set(client, TCP)
        before = options(client, wanted)
        self.record()
        for each, value in zip(TCP, plain, strict=True):
            if each in wanted:
                client.setsockopt(each[0], each[1], value)
        self.assertNotEqual(options(client, wanted), before)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(options(client, wanted), before)

    def test_an_offset_of_peeking_at_a_connection_is_no_difference_where_there_was_none(self):
        client, _server = self.connect()
        try:
            self.assertEqual(client.getsockopt(1, 42), -1)
        except OSError as error:
            self.skipTest(f"this kernel does not know it either: {error}")
        self.record()
        self.assertEqual(self.put_right(kernel=lambda: forget(1, 42, error=errno.EOPNOTSUPP)), (0, []))
        client.setsockopt(1, 42, 3)
        self.record()
        code, told = self.put_right(kernel=lambda: forget(1, 42, error=errno.EOPNOTSUPP))
        self.assertEqual((code, [line.rpartition(": ")[2] for line in told]), (3, ["SO_PEEK_OFF is not there, was 3"]))

    def test_an_option_of_newer_kernels_is_no_difference_where_it_had_no_effect(self):
        untold = {44: "TCP_RTO_MAX_MS", 45: "TCP_RTO_MIN_US", 46: "TCP_DELACK_MAX_US"}
        one = self.make(socket.AF_INET, socket.SOCK_STREAM)
        pair = socket.socketpair()
        for end in pair:
            self.addCleanup(end.close)
        try:
            known = [one.getsockopt(6, number) for number in untold] + [pair[0].getsockopt(1, 83)]
        except OSError as error:
            self.skipTest(f"this kernel does not know them either: {error}")
        self.assertEqual(known, [120000, 200000, 200000, 1])
        self.record()
        self.assertEqual(self.put_right(kernel=lambda: forget(6, *untold)), (0, []))
        self.assertEqual(self.put_right(kernel=lambda: forget(1, 83)), (0, []))
        for (number, name), value in zip(untold.items(), (60000, 40000, 40000), strict=True):
            before = one.getsockopt(6, number)
            one.setsockopt(6, number, value)
            self.record()
            told = [f"process {os.getpid()} descriptor {one.fileno()}: {name} is not there, was {value}"]
            self.assertEqual(self.put_right(kernel=lambda: forget(6, *untold)), (3, told))
            # Where the kernel knows it, the value is put right.
            one.setsockopt(6, number, before)
            self.assertEqual(self.put_right(), (0, []))
            self.assertEqual(one.getsockopt(6, number), value)
            one.setsockopt(6, number, before)
        for end in pair:
            end.setsockopt(1, 83, 0)
        self.record()
        self.assertEqual(self.put_right(kernel=lambda: forget(1, 83))[0], 3)

    def test_a_kernel_that_cannot_tell_the_lowest_timeout_has_that_of_its_sysctl(self):
        there = ("unshare", "--net", "sh", "-c", 'echo 50500 >/proc/sys/net/ipv4/tcp_rto_min_us && exec "$@"', "sh")
        if subprocess.run([*there, "true"], check=False, capture_output=True).returncode:
            self.skipTest("this kernel has no such sysctl, or no namespace of a network can be had")
        one = self.make(socket.AF_INET, socket.SOCK_STREAM)
        for value, code in ((52000, 0), (48000, 3), (64000, 3), (200000, 3)):
            one.setsockopt(6, 45, value)
            self.record()
            self.assertEqual(self.put_right(before=there, kernel=lambda: forget(6, 45))[0], code, value)

    def test_a_limit_of_the_window_that_setting_the_buffer_has_made_is_taken_back(self):
        clamp, highest = 10, 65535 << 14
        listener = self.make(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client, _server = self.connect()
        self.assertEqual(listener.getsockopt(6, clamp), 0)
        before = client.getsockopt(6, clamp)
        self.record()
        for one in (listener, client):
            one.setsockopt(6, clamp, 65536)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(listener.getsockopt(6, clamp), highest)
        self.assertGreaterEqual(client.getsockopt(6, clamp), before)
        # One that the application has set comes back.
        listener.setsockopt(6, clamp, 30000)
        self.record()
        listener.setsockopt(6, clamp, 65536)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(listener.getsockopt(6, clamp), 30000)

    def test_a_connection_that_was_recorded_in_repair_mode_can_use_its_port_again(self):
        client, server = self.connect()
        repair = 19
        for one in (client, server):
            one.setsockopt(6, repair, 1)
        self.assertEqual(server.getsockopt(1, 2), 2)
        self.record()
        for one in (client, server):
            one.setsockopt(6, repair, 0)
        self.assertEqual(server.getsockopt(1, 2), 0)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual((client.getsockopt(1, 2), server.getsockopt(1, 2)), (0, 1))

    def test_memberships(self):
        sender, one, six, mixed = (
            self.make(family, socket.SOCK_DGRAM)
            for family in (socket.AF_INET, socket.AF_INET, socket.AF_INET6, socket.AF_INET6)
        )
        join = [
            (one, 0, 35, socket.inet_aton(GROUP) + socket.inet_aton("127.0.0.1")),
            (one, 0, 39, socket.inet_aton("239.9.9.8") + socket.inet_aton("127.0.0.1") + socket.inet_aton("127.0.0.5")),
            (six, 41, 20, socket.inet_pton(socket.AF_INET6, GROUP6) + struct.pack("I", LOOPBACK)),
            (mixed, 0, 35, socket.inet_aton(GROUP) + socket.inet_aton("127.0.0.1")),
        ]
        leave = [(one, 0, 36), (one, 0, 40), (six, 41, 21), (mixed, 0, 36)]
        for each, level, number, value in join:
            each.setsockopt(level, number, value)
        one.bind(("", 0))
        said = self.record()
        self.assertEqual(said.count("\nmembership "), 4, said)
        self.assertEqual(self.put_right(), (0, []))
        for (each, level, number), (*_rest, value) in zip(leave, join, strict=True):
            each.setsockopt(level, number, value)
        self.assertNotIn("membership", run("record", str(os.getpid())).stdout)
        self.assertEqual(self.put_right(), (0, []))
        # The kernel lists the groups in the order in which they were joined.
        self.assertEqual(sorted(run("record", str(os.getpid())).stdout.split("\n")), sorted(said.split("\n")))
        sender.setsockopt(0, 32, socket.inet_aton("127.0.0.1"))
        sender.sendto(b"heard", (GROUP, one.getsockname()[1]))
        one.settimeout(5)
        self.assertEqual(one.recv(9), b"heard")

    def rename(self, bound, current):
        """A listener whose file has got another name, and what was recorded; then a restore, which binds it to the first."""
        one = self.make(socket.AF_UNIX)
        one.bind(bound)
        one.listen()
        os.rename(bound, current)
        said = self.record()
        self.assertEqual(self.put_right(), (0, []))
        with socket.socket(socket.AF_UNIX) as new:
            new.bind(bound)
            new.listen()
            os.dup2(new.fileno(), one.fileno())
        return said

    def test_the_file_of_a_socket_gets_its_name_again(self):
        place = os.path.dirname(self.path)
        os.mkdir(f"{place}/real dir")
        os.symlink("real dir", f"{place}/link")
        bound, current = f"{place}/link/new", f"{place}/real dir/so cket"
        said = self.rename(bound, current)
        self.assertEqual(said.count("\nname "), 1, said)
        # On a disk, the file of the last boot.
        old = os.stat(current).st_ino
        self.assertEqual(self.put_right(), (0, []))
        self.assertNotEqual(os.stat(current).st_ino, old)
        self.assertEqual(os.listdir(f"{place}/real dir"), ["so cket"])
        client = self.make(socket.AF_UNIX)
        client.connect(current)
        self.assertEqual(self.put_right(), (0, []))

    def in_another_root(self, one):
        """A process that has this socket at the same number, and another root directory."""
        place = f"{os.path.dirname(self.path)}/root"
        os.makedirs(place, exist_ok=True)
        code = f"import os, sys; os.chroot({place!r}); print(); sys.stdin.read()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[one.fileno()]
        )
        self.addCleanup(process.communicate)
        process.stdout.readline()
        return str(process.pid)

    def test_the_name_is_found_from_another_root_directory(self):
        bound, current = f"{self.path}.tmp", f"{self.path}.sock"
        one = self.make(socket.AF_UNIX)
        one.bind(bound)
        one.listen()
        os.rename(bound, current)
        before = self.in_another_root(one)
        said = run("record", before).stdout
        self.assertEqual(said.count("\nname "), 1, said)
        os.unlink(current)
        with socket.socket(socket.AF_UNIX) as new:
            new.bind(bound)
            new.listen()
            os.dup2(new.fileno(), one.fileno())
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(said.replace(f" {before} ", f" {self.in_another_root(one)} "))
        done = run("put-right", self.path)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.make(socket.AF_UNIX).connect(current)
        self.assertFalse(os.path.exists(bound))

    def test_sockets_that_keep_the_name_of_their_file_need_nothing(self):
        place = os.path.dirname(self.path)
        gone, listener, relative, client = (self.make(socket.AF_UNIX) for _number in range(4))
        gone.bind(f"{place}/gone")
        os.unlink(f"{place}/gone")
        listener.bind(f"{place}/here")
        listener.listen()
        client.connect(f"{place}/here")
        accepted, _address = listener.accept()
        self.addCleanup(accepted.close)
        os.rename(f"{place}/here", f"{place}/there")
        self.assertEqual(self.record().count("\nname "), 1)
        os.rename(f"{place}/there", f"{place}/here")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(place)
        relative.bind("beside")
        self.assertNotIn("\nname ", self.record())

    def test_nothing_but_the_sockets_own_file_is_renamed(self):
        place = os.path.dirname(self.path)
        os.mkdir(f"{place}/dir")
        bound, current = f"{place}/dir/new", f"{place}/dir/name"
        self.rename(bound, current)
        # Somebody's file has the name.
        os.unlink(current)
        with open(current, "w", encoding="ascii") as stream:
            stream.write("precious")
        code, lines = self.put_right()
        self.assertEqual((code, len(lines)), (3, 1), lines)
        self.assertIn("does not have its name (File exists)", lines[0])
        with open(current, encoding="ascii") as stream:
            self.assertEqual(stream.read(), "precious")
        # A link on the way.
        os.unlink(current)
        os.rename(f"{place}/dir", f"{place}/other")
        os.symlink("other", f"{place}/dir")
        self.assertEqual(self.put_right()[0], 3)
        self.assertEqual(os.listdir(f"{place}/other"), ["new"])
        # Another socket has the name that it was bound to. The process runs, and may have removed the file itself.
        os.unlink(f"{place}/dir")
        os.rename(f"{place}/other", f"{place}/dir")
        os.unlink(bound)
        self.make(socket.AF_UNIX).bind(bound)
        self.assertEqual(self.put_right(), (0, []))
        self.assertEqual(os.listdir(f"{place}/dir"), ["new"])

    def test_what_cannot_be_put_right_is_told(self):
        one = self.make(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 0))
        said = self.record()
        number = one.fileno()
        self.assertIn(f"\nsocket {os.getpid()} {number} 2 2 17 ", said)
        for old, new, told in (
            ("IP_TOS=0", "IP_TOS=999", "IP_TOS is "),
            ("IP_TOS=0", "TCP_CORK=1", "TCP_CORK is not there, was 1"),
            ("SO_BINDTODEVICE=x", "SO_BINDTODEVICE=x6e6f6e65", "SO_BINDTODEVICE is , was none"),
        ):
            with open(self.path, "w", encoding="ascii") as stream:
                stream.write(said.replace(old, new))
            code, lines = self.put_right()
            self.assertEqual(code, 3)
            self.assertTrue(any(told in line for line in lines), (told, lines))
        # An option that this socket does not have, and that was off.
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(said.replace("IP_TOS=0", "TCP_CORK=0"))
        self.assertEqual(self.put_right(), (0, []))
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(said + f"membership {os.getpid()} {number} x6e6f6e65 xef090909 0\n")
        self.assertEqual(self.put_right()[0], 3)

    def test_a_process_that_has_run_may_have_closed_a_socket(self):
        one = self.make(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 0))
        with subprocess.Popen(["sleep", "1000"], pass_fds=[one.fileno()]) as child:
            said = run("record", str(child.pid)).stdout
            holder = f"socket {child.pid} {one.fileno()} 2 2 17 "
            self.assertIn(holder, said)
            for other in (holder.replace("2 2 17", "2 1 6"), f"socket {child.pid} 9999 2 2 17 "):
                with open(self.path, "w", encoding="ascii") as stream:
                    stream.write(said.replace(holder, other))
                child.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, child.pid, os.WSTOPPED)
                code, lines = self.put_right()
                self.assertEqual(code, 3)
                self.assertTrue(lines[0].endswith("the socket is another one, or closed"), lines)
                child.send_signal(signal.SIGCONT)
                os.waitid(os.P_PID, child.pid, os.WCONTINUED)
                self.assertEqual(self.put_right(), (0, []))
            child.kill()

    def test_a_socket_of_two_processes_is_recorded_once_and_many_have_one_set(self):
        one = self.make(socket.AF_INET, socket.SOCK_STREAM)
        for _number in range(20):
            self.make(socket.AF_INET, socket.SOCK_STREAM)
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[one.fileno()]) as child:
            said = run("record", str(os.getpid()), str(child.pid)).stdout
            child.stdin.close()
        self.assertEqual((said.count("\nsocket "), said.count("\noptions ")), (21, 1))

    def test_status_flags_are_set_again(self):
        for kind in (
            (socket.AF_NETLINK, socket.SOCK_RAW),
            (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_DGRAM),
        ):
            one = self.make(*kind)
            one.setblocking(False)
            self.record()
            one.setblocking(True)
            done = run("put-right", self.path)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertFalse(os.get_blocking(one.fileno()))

    def test_a_process_that_has_ended_has_none(self):
        with subprocess.Popen(["true"]) as child:
            child.wait()
        self.assertEqual(run("record", str(child.pid)).stdout, "kup-fingerprint 3\n")

    def test_a_damaged_record_changes_nothing(self):
        one = self.make(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(0, 1, 16)
        said = self.record()
        one.setsockopt(0, 1, 0)
        for text in (
            "",
            said[:-1],
            said + "odd\n",
            said + "\n",
            said + "options 0 SO_MARK=1\n",
            said.replace(" SO_MARK", "  SO_MARK"),
            said + "socket 1 2 3 4 5 x x 9\n",
            said + "thread 0 1 a=b\n",
            said + "thread 1 -1 a=b\n",
            said + "thread 1 1\n",
            said + "thread 1 1 a=\n",
            said + "thread 1 1 =b\n",
            said + "thread 1 1 a\n",
            said + "thread 1 1 a=b c\n",
            said + "thread 1 1 a=\x01\n",
            said + "descriptor 1 a=b\n",
            said + "descriptor 1 x a=b\n",
            said + "name 1 2 x2f x6e\n",
            said + "name 1 2 x2f x2e2e x6e\n",
            said + "name 1 2 x2f x612f62 x6e\n",
            said + "name 1 2 x2f00 x61 x6e\n",
            said + "name 1 2 x72 x61 x6e\n",
            said + "listener 1 2 3 0 4 5\n",
            said + "listener 1 2 3 2 4 5 x\n",
            said + "listener 1 2 3 0 4294967295 5 x\n",
            said + "listener 1 2 3 0 4 5 x010203\n",
            said + "listener 0 2 3 0 4 5 x\n",
            said + "\0",
        ):
            with open(self.path, "w", encoding="ascii") as stream:
                stream.write(text)
            done = run("put-right", self.path)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text[-40:])
            self.assertIn("file ", done.stderr)
            self.assertEqual(one.getsockopt(0, 1), 0)
        self.assertEqual(run("put-right", "/none").returncode, 1)
        self.assertEqual(run("put-right").returncode, 2)
        self.assertEqual(run("record", "7x").returncode, 1)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
