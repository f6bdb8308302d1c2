# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers that have backed off during an outage, with their messages and without: backoff_test.py PROGRAM [SECONDS]

A server in a network namespace of its own answers clients in another one, and packets are dropped for SECONDS, and until all clients
have sent once more. Then half of them are sent the messages. No time is compared with a clock, only that of one half with that of the other.
"""

import collections
import ctypes
import itertools
import os
import select
import selectors
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = None
# Clients send after 0.2, 0.6, 1.4, 3.0 and 6.2 seconds.
OUTAGE = 2.5
EACH = 4  # clients of a kind, with the messages and without

SERVER, CLIENT = "10.99.0.1", "10.99.0.2"
SERVER6, CLIENT6 = "fd99::1", "fd99::2"
LINK_SERVER, LINK_CLIENT = "fe80::99:1", "fe80::99:2"
PORT4, PORT6, PORT_BOTH, PORT_SILENT = 7001, 7002, 7003, 7009
#: kind → (family, address, port); the last but one is IPv4 at an IPv6 socket of the server
KINDS = {
    "IPv4": (socket.AF_INET, SERVER, PORT4),
    "IPv6": (socket.AF_INET6, SERVER6, PORT6),
    "mapped": (socket.AF_INET, SERVER, PORT_BOTH),
    "link-local": (socket.AF_INET6, f"{LINK_SERVER}%client", PORT6),
}
#: A port of its own for each client, by which the record's lines are told apart: the kernel gives one port to two kinds.
CLIENT_PORTS = itertools.count(20000)
TCP_REPAIR, TCP_REPAIR_QUEUE, LEAVE_WITHOUT_PROBE, SEND_QUEUE = 19, 20, -1, 2
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def shell(command, text=None):
    subprocess.run(command, shell=True, check=True, input=text, text=True)


def drop(table, hook, *rules):
    """Drop the packets that one of these rules is about."""
    lines = "".join(f"\n{rule} drop" for rule in rules)
    shell("nft -f -", f"table inet {table} {{\nchain {hook} {{\ntype filter hook {hook} priority 0{lines}\n}}\n}}\n")


def enter(namespace):
    """Have this thread make its sockets there."""
    if LIBC.setns(namespace, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")


def listen(family, port, both=False):
    one = socket.socket(family)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
    one.bind(("", port))
    one.listen(128)
    return one


def serve(ready):
    """The application: it answers every byte, has a connection that nobody has accepted yet, and two to itself."""
    listeners = [
        listen(socket.AF_INET, PORT4),
        listen(socket.AF_INET6, PORT6),
        listen(socket.AF_INET6, PORT_BOTH, True),
    ]
    waiting = socket.socket()
    waiting.setblocking(False)
    waiting.connect_ex((CLIENT, PORT_SILENT))
    inner = [socket.create_connection((address, PORT4)) for address in ("127.0.0.1", SERVER)]
    loop = selectors.DefaultSelector()
    for one in listeners:
        loop.register(one, selectors.EVENT_READ, True)
    os.write(ready, b"x")
    while inner:
        for key, _events in loop.select():
            if key.data:
                loop.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
                continue
            data = key.fileobj.recv(64)
            key.fileobj.sendall(data)
            if not data:
                loop.unregister(key.fileobj)
                inner.append(key.fileobj)  # it stays open


def copies(pid):
    """Copies of the process's TCP connections."""
    handle = os.pidfd_open(pid)
    for name in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
            copy = socket.socket(fileno=LIBC.syscall(438, handle, int(name), 0))
            if copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != b"\x0a":  # TCP_LISTEN
                yield copy
            else:
                copy.close()
    os.close(handle)


def doublings(one):
    """How often a client has doubled its time (tcp_info.tcpi_backoff)."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[4]


def wait_for_a_doubling(clients):
    """However long the outage has been: right after a client has sent, it waits for as long as all of it has taken."""
    wanted = 1 + max(map(doublings, clients))
    while min(map(doublings, clients)) < wanted:
        time.sleep(0.02)


def wait_for_routes(*addresses):
    """The kernel notices a moment after `ip link set up` that a link works, and has no IPv6 route before."""
    end = time.monotonic() + 10
    for address in addresses:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            while one.connect_ex(socket.getaddrinfo(address, 9)[0][4]):
                assert time.monotonic() < end, f"no route to {address}"
                time.sleep(0.01)


class Messages:
    """The ICMP messages that come to the clients."""

    def __init__(self):
        self._sockets = [
            socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
            socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
        ]
        for one in self._sockets:
            one.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
            one.setblocking(False)

    def close(self):
        for one in self._sockets:
            one.close()

    def take(self):
        """(sender, client's end, server's end) → list of sequence numbers."""
        found = collections.defaultdict(list)
        for one in self._sockets:
            while select.select([one], [], [], 0)[0]:
                packet, sender = one.recvfrom(256)
                four = one.family == socket.AF_INET
                packet = packet[20:] if four else packet
                if packet[:2] != (b"\x03\x01" if four else b"\x01\x00"):
                    continue
                header, tcp = (packet[8:28], packet[28:]) if four else (packet[8:48], packet[48:])
                size = 4 if four else 16
                ends = [socket.inet_ntop(one.family, header[at : at + size]) for at in ((12, 16) if four else (8, 24))]
                ports = struct.unpack("!HHI", tcp[:8])
                found[(sender[0].split("%")[0], (ends[0], ports[0]), (ends[1], ports[1]))].append(ports[2])
        return found


class Backoff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        cls.places = {}
        for name in ("client", "server"):
            if LIBC.unshare(0x40000000):
                raise OSError(ctypes.get_errno(), "unshare")
            cls.places[name] = os.open("/proc/self/ns/net", os.O_RDONLY)
        client = f"/proc/{os.getpid()}/fd/{cls.places['client']}"
        shell(f"ip link set lo up && ip link add server type veth peer name client netns {client}")
        cls.set_up("server", f"{SERVER}/24", f"{SERVER6}/64", f"{LINK_SERVER}/64")
        enter(cls.places["client"])
        cls.set_up("client", f"{CLIENT}/24", f"{CLIENT6}/64", f"{LINK_CLIENT}/64")
        wait_for_routes(SERVER6, f"{LINK_SERVER}%client")
        enter(cls.places["server"])
        wait_for_routes(CLIENT6)

    @staticmethod
    def set_up(name, *addresses):
        shell(f"ip link set {name} addrgenmode none")  # an address that the kernel makes cannot be used for a second
        for address in addresses:
            shell(f"ip address add {address} dev {name} {'nodad' if ':' in address else ''}")
        shell(f"ip link set {name} up")

    @classmethod
    def tearDownClass(cls):
        enter(cls.home)  # the namespaces end with their last descriptor
        for place in cls.places.values():
            os.close(place)

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = f"{directory.name}/record"
        reader, writer = os.pipe()
        drop("silence", "output", f"tcp dport {PORT_SILENT}")
        self.addCleanup(shell, "nft flush ruleset")
        self.server = os.fork()
        if not self.server:
            try:
                serve(writer)
            except BaseException as error:
                print(f"the server ends: {error!r}")
            finally:
                os._exit(1)
        self.addCleanup(self.end)
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"x")
        os.close(reader)

    def end(self):
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)

    def connect(self, kind, count):
        """Clients of this kind, which have had an answer."""
        family, address, port = KINDS[kind]
        enter(self.places["client"])
        made = []
        for _each in range(count):
            one = socket.socket(family)
            self.addCleanup(one.close)
            one.bind(("", next(CLIENT_PORTS)))
            one.connect(socket.getaddrinfo(address, port, family, socket.SOCK_STREAM)[0][4])
            one.sendall(b"a")
            self.assertEqual(one.recv(1), b"a")
            made.append(one)
        enter(self.places["server"])
        return made

    def record(self):
        """Record the server as it stands still, with its connections in repair mode, as CRIU leaves them."""
        os.kill(self.server, signal.SIGSTOP)
        os.waitid(os.P_PID, self.server, os.WSTOPPED | os.WNOWAIT)
        held = list(copies(self.server))
        for one in held:
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
        done = run("record", str(self.server))
        for one in held:
            self.assertEqual(one.getsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE), SEND_QUEUE)
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, LEAVE_WITHOUT_PROBE)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # which repair mode takes away
            one.close()
        os.kill(self.server, signal.SIGCONT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def write(self, lines):
        with open(self.path, "w", encoding="ascii") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    def without(self, lines, clients):
        """The record without the sequence numbers of these clients."""
        ports = {struct.pack("!H", one.getsockname()[1]).hex() for one in clients}
        kept, left_out = [], False
        for line in lines:
            words = line.split()
            if words[0] == "socket":
                left_out = words[7][5:9] in ports
            if words[0] != "sequence" or not left_out:
                kept.append(line)
        return kept

    def answers(self, clients, patience):
        """Seconds until each of the clients is answered."""
        begin, waiting, gaps = time.monotonic(), set(clients), {}
        while waiting and time.monotonic() < begin + patience:
            for one in select.select(list(waiting), [], [], 1)[0]:
                self.assertEqual(one.recv(1), b"b")
                gaps[one] = time.monotonic() - begin
                waiting.remove(one)
        self.assertFalse(waiting, "clients that were never answered")
        return gaps

    def test_clients_that_are_told_go_on_at_once(self):
        told = {kind: self.connect(kind, EACH) for kind in KINDS}
        left = {kind: self.connect(kind, EACH) for kind in KINDS}
        idle = {kind: self.connect(kind, 1)[0] for kind in KINDS}
        all_told, all_left = ([one for each in some.values() for one in each] for some in (told, left))
        for hook, end in ("input", "dport"), ("output", "sport"):
            drop("lock", hook, f"tcp {end} {PORT4}-{PORT_BOTH}")
        for one in all_told + all_left:
            one.sendall(b"b")
        begin = time.monotonic()
        lines = self.record()
        # The clients', and both ends of the two inside the node; neither of the listeners nor of what is being connected.
        peers = len(all_told + all_left) + len(idle)
        self.assertEqual(sum(line.startswith("sequence ") for line in lines), peers + 4)
        self.write(self.without(lines, all_left))
        enter(self.places["client"])
        messages = Messages()
        self.addCleanup(messages.close)
        enter(self.places["server"])
        time.sleep(max(0, begin + OUTAGE - time.monotonic()))
        wait_for_a_doubling(all_told + all_left)
        outage = time.monotonic() - begin
        shell("nft delete table inet lock")
        sending = subprocess.Popen(
            [PROGRAM, "revert-backoff", self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        gaps = self.answers(all_told + all_left, 3 * outage + 5)
        said, complaint = sending.communicate()
        self.assertEqual((sending.returncode, complaint), (0, ""))
        wanted = len(all_told) + len(idle)
        self.assertEqual(said.splitlines()[0], f"round 1: {wanted} of {wanted} peers were told to send again")
        for kind in KINDS:
            with_, without = (statistics.median(gaps[one] for one in some[kind]) for some in (told, left))
            print(f"{kind}: after {outage:.1f} s answered after {with_:.3f} s, without after {without:.3f} s")
            self.assertLess(with_ * 3, without, kind)
        self.check_messages(messages.take(), {one: gaps[one] for one in all_told}, list(idle.values()))
        for one in all_told + all_left + list(idle.values()):
            one.sendall(b"c")
            self.assertEqual(one.recv(1), b"c")

    def check_messages(self, found, told, idle):
        """Those who wait get them until they have sent, those who have nothing to send in each round, nobody else gets any."""
        counts = {}
        for (sender, client, server), numbers in found.items():
            self.assertEqual(sender, server[0])
            self.assertEqual(len(set(numbers)), 1)
            counts[client, server] = len(numbers)
        ends = {
            one: tuple((end[0].split("%")[0], end[1]) for end in (one.getsockname(), one.getpeername()))
            for one in [*told, *idle]
        }
        self.assertEqual(set(counts), set(ends.values()))
        for one, gap in told.items():
            self.assertIn(counts[ends[one]], (10,) if gap < 0.5 else (10, 20, 30))
        for one in idle:
            self.assertEqual(counts[ends[one]], 30)

    def test_a_filter_that_drops_the_messages_is_said_once(self):
        clients = self.connect("IPv4", 2) + self.connect("IPv6", 1)
        self.write(self.record())
        drop("filter", "output", "icmp type destination-unreachable", "icmpv6 type destination-unreachable")
        done = run("revert-backoff", self.path)
        why = "peers could not be sent ICMP messages, which the node's packet filter drops: Operation not permitted\n"
        self.assertEqual((done.returncode, done.stderr), (1, why))
        self.assertEqual(done.stdout.splitlines()[0], "round 1: 0 of 3 peers were told to send again")
        for one in clients:
            one.sendall(b"b")
            self.assertEqual(one.recv(1), b"b")

    def test_connections_that_are_gone_are_left_out(self):
        closed, half = self.connect("IPv4", 2)
        lines = self.record()
        closed.close()
        half.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        self.write(lines)
        done = run("revert-backoff", self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "round 1: 0 of 2 peers were told to send again")

    def test_connections_that_are_not_in_repair_mode_have_no_number(self):
        self.connect("IPv4", 1)
        done = run("record", str(self.server))
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("sequence", done.stdout)

    def test_a_damaged_number_is_refused(self):
        self.connect("IPv4", 1)
        lines = self.record()
        at = next(at for at, line in enumerate(lines) if line.startswith("sequence "))
        pid, number, expected = lines[at].split()[1:]
        for wrong in (
            [*lines[:at], f"sequence {pid} {number} {1 << 32}", *lines[at + 1 :]],
            [*lines[:at], f"sequence {pid} {number} x", *lines[at + 1 :]],
            [*lines[:at], f"sequence {pid} {number}", *lines[at + 1 :]],
            [*lines[:at], f"sequence {pid} {int(number) + 999} {expected}", *lines[at + 1 :]],
            [*lines[: at + 1], *lines[at:]],
            [lines[0], lines[at]],
        ):
            self.write(wrong)
            for verb in ("put-right", "revert-backoff"):
                done = run(verb, self.path)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "is not as it was written")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1:
        OUTAGE = float(sys.argv.pop(1))
    unittest.main(verbosity=1)
