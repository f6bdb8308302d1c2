# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers that have backed off during an outage, with their messages and without: backoff_test.py PROGRAM [SECONDS]

A server in a network namespace of its own answers clients in another one, and packets are dropped for SECONDS, and until all clients
have sent once more. Then half of them are sent the messages. No time is compared with a clock, only that of one half with that of the other.
"""

import collections
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
import unittest

from network import KINDS, Network, drop, enter, shell

# Clients send after 0.2, 0.6, 1.4, 3.0 and 6.2 seconds.
OUTAGE = 2.5
ARP = 0x0806
EACH = 4  # clients of a kind, with the messages and without


def doublings(one):
    """How often a client has doubled its time (tcp_info.tcpi_backoff)."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[4]


def wait_for_a_doubling(clients):
    """However long the outage has been: right after a client has sent, it waits for as long as all of it has taken."""
    wanted = 1 + max(map(doublings, clients))
    while min(map(doublings, clients)) < wanted:
        time.sleep(0.02)


def answer_late(questions):
    """Answer the first question for the address of a neighbour, a little later than an answer comes in a network."""
    while (frame := questions.recv(64))[20:22] != b"\0\1":
        pass
    time.sleep(0.02)
    own, asker = questions.getsockname()[4], frame[22:32]
    questions.send(frame[6:12] + own + frame[12:20] + b"\0\2" + own + frame[38:42] + asker)


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


class Backoff(Network):
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

    def test_clients_that_are_told_go_on_at_once(self):
        told = {kind: self.connect(kind, EACH) for kind in KINDS}
        left = {kind: self.connect(kind, EACH) for kind in KINDS}
        idle = {kind: self.connect(kind, 1)[0] for kind in KINDS}
        all_told, all_left = ([one for each in some.values() for one in each] for some in (told, left))
        self.lock()
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
            [self.program, "revert-backoff", self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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

    def answer_questions(self):
        enter(self.places["client"])
        shell("sysctl -qw net.ipv4.conf.client.arp_ignore=0")
        enter(self.places["server"])

    def test_a_neighbour_that_is_not_known_yet_gets_all_messages(self):
        """A kernel that has just started knows none, and keeps some two hundred packets for each meanwhile, of applications or ours."""
        clients = self.connect("IPv4", 40)
        self.write(self.record())
        enter(self.places["client"])
        messages = Messages()
        self.addCleanup(messages.close)
        shell("sysctl -qw net.ipv4.conf.client.arp_ignore=8")
        self.addCleanup(self.answer_questions)
        questions = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP))
        self.addCleanup(questions.close)
        questions.bind(("client", ARP))
        questions.settimeout(30)
        enter(self.places["server"])
        shell("ip neighbour flush dev server")
        with subprocess.Popen(
            [self.program, "revert-backoff", self.path], stdout=subprocess.PIPE, text=True
        ) as sending:
            answer_late(questions)
            self.assertEqual(sending.stdout.readline(), "round 1: 40 of 40 peers were told to send again\n")
            found = [len(numbers) for numbers in messages.take().values()]
            sending.communicate()
        self.assertEqual(found, [10] * len(clients))

    def test_a_filter_that_drops_the_messages_is_said_once(self):
        clients = self.connect("IPv4", 2) + self.connect("IPv6", 1)
        self.write(self.record())
        drop("filter", "output", "icmp type destination-unreachable", "icmpv6 type destination-unreachable")
        done = self.run_program("revert-backoff", self.path)
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
        done = self.run_program("revert-backoff", self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "round 1: 0 of 2 peers were told to send again")

    def test_connections_that_are_not_in_repair_mode_have_no_number(self):
        self.connect("IPv4", 1)
        done = self.run_program("record", str(self.server))
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("sequence", done.stdout)

    def test_a_damaged_number_is_refused(self):
        self.connect("IPv4", 1)
        lines = self.record()
        at = next(at for at, line in enumerate(lines) if line.startswith("sequence "))
        pid, number, *numbers = lines[at].split()[1:]
        self.assertEqual(len(numbers), 3)
        changed = [[*numbers[:i], wrong, *numbers[i + 1 :]] for i in range(3) for wrong in ("x", "-1", str(1 << 32))]
        for wrong in (
            *(
                [*lines[:at], " ".join(["sequence", pid, number, *words]), *lines[at + 1 :]]
                for words in (*changed, [*numbers[:2], "65536"], numbers[:2], [])
            ),
            [*lines[:at], " ".join(["sequence", pid, str(int(number) + 999), *numbers]), *lines[at + 1 :]],
            [*lines[: at + 1], *lines[at:]],
            [lines[0], lines[at]],
        ):
            self.write(wrong)
            for verb in ("put-right", "revert-backoff"):
                done = self.run_program(verb, self.path)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "is not as it was written")


if __name__ == "__main__":
    Network.program = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1:
        OUTAGE = float(sys.argv.pop(1))
    unittest.main(verbosity=1)
