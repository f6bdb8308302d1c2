# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers that are told to wait before an outage, and to go on after it: parking_test.py PROGRAM [SECONDS]

The server stands still, its clients are told, and packets are dropped for SECONDS. A client that was told sends no data meanwhile. No time is
compared with a clock, only with the outage.
"""

import ipaddress
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from network import KINDS, PORT4, PORT_BOTH, Network, copies, drop, shell

OUTAGE = 2.5
EACH = 4  # clients of a kind
REUSEADDR = (socket.SOL_SOCKET, socket.SO_REUSEADDR)
# What the caller has the packet filter do meanwhile.
ZERO = f"table inet parked {{\nchain output {{\ntype filter hook output priority -199\ntcp sport {PORT4}-{PORT_BOTH} tcp window set 0\n}}\n}}\n"


def sent(one):
    """How many segments with data a client has sent (tcp_info.tcpi_data_segs_out)."""
    return struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160), 156)[0]


def unsent(one):
    """How many bytes wait in a client for the peer's room (tcp_info.tcpi_notsent_bytes)."""
    return struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 148), 144)[0]


def unacknowledged(one):
    return struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 28), 24)[0]


class Parking(Network):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.list, self.parked = f"{directory.name}/near", f"{directory.name}/parked"

    def all_kinds(self, count):
        return [one for kind in KINDS for one in self.connect(kind, count)]

    def near(self):
        """Leave the list of near peers; returns its lines."""
        done = self.run_program("near", str(self.server))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.leave(done.stdout.splitlines())
        return done.stdout.splitlines()

    def leave(self, lines, path=""):
        with open(path or self.list, "w", encoding="ascii") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    def park(self, meanwhile=lambda: None):
        """Have the server stand still, tell those of the list, and drop everything; the server's record is left, and who was told. Returns
        how many were.
        """
        self.stop()
        shell("nft -f -", ZERO)
        before = self.reuse()
        done = self.run_program("park", self.list)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.reuse(), before)
        meanwhile()
        self.lock()
        self.write(self.recorded())
        head, *lines = done.stdout.splitlines()
        self.assertEqual(head, "kup-fingerprint 3")
        self.leave([head, *lines], self.parked)
        return len(lines)

    def reuse(self):
        """SO_REUSEADDR of the server's connections."""
        held = list(copies(self.server))
        found = [one.getsockopt(*REUSEADDR) for one in held]
        for one in held:
            one.close()
        return found

    def open(self):
        shell("nft delete table inet lock; nft delete table inet parked")
        self.go_on()

    def unpark(self):
        return subprocess.Popen(
            [self.program, "unpark", self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def go_on_at_once(self, clients, outage):
        """The clients have sent something: they are answered long before they would have asked."""
        self.open()
        telling = self.unpark()
        gaps = self.answers(clients, 3 * outage + 5)
        said, complaint = telling.communicate()
        self.assertEqual(complaint, "")
        print(
            f"after {outage:.1f} s answered after {statistics.median(gaps.values()):.3f} s, the last after {max(gaps.values()):.3f} s"
        )
        self.assertLess(max(gaps.values()) * 3, outage)
        for one in clients:
            one.sendall(b"c" * 60)
            self.assertEqual(one.recv(60), b"c" * 60)
        return said

    def test_near_peers_are_listed_with_their_ends(self):
        clients = self.all_kinds(1)
        head, *lines = self.near()
        self.assertEqual(head, "kup-fingerprint 3")
        # Neither listeners, nor what is being connected, nor connections inside the node.
        found = set()
        for line in lines:
            name, pid, number, _round_trip, own, own_port, peer, peer_port = line.split()
            self.assertEqual((name, int(pid)), ("near", self.server))
            self.assertTrue(os.path.exists(f"/proc/{pid}/fd/{number}"))
            ends = [
                (str(ipaddress.ip_address(bytes.fromhex(one[1:]))), int(port))
                for one, port in ((own, own_port), (peer, peer_port))
            ]
            found.add(tuple(ends))
        wanted = {
            tuple((end[0].split("%")[0], end[1]) for end in (one.getpeername(), one.getsockname())) for one in clients
        }
        self.assertEqual(found, wanted)

    def test_clients_that_are_told_send_nothing_and_go_on_at_once(self):
        clients = self.all_kinds(EACH)
        self.near()
        self.assertEqual(self.park(), len(clients))
        for one in clients:
            one.sendall(b"b")
        before = [sent(one) for one in clients]
        begin = time.monotonic()
        time.sleep(OUTAGE)
        self.assertEqual([sent(one) for one in clients], before)
        said = self.go_on_at_once(clients, time.monotonic() - begin)
        # Both ends of those inside the node are no peers.
        self.assertEqual(said.splitlines()[0], f"round 1: {len(clients)} of {len(clients)} peers were told to go on")

    def test_a_client_that_hears_of_no_room_from_the_kernel_alone_goes_on_at_once_as_well(self):
        (client,) = self.connect("IPv4", 1)
        self.near()
        self.leave(["kup-fingerprint 3"])

        def send_and_be_acknowledged():
            client.sendall(b"b")
            end = time.monotonic() + 10
            while unacknowledged(client):
                self.assertLess(time.monotonic(), end, "data that the kernel has not acknowledged")
                time.sleep(0.01)

        self.assertEqual(self.park(send_and_be_acknowledged), 0)
        client.sendall(b"b" * 100)
        begin = time.monotonic()
        time.sleep(OUTAGE)
        self.open()
        outage, telling = time.monotonic() - begin, self.unpark()
        left, begin = 101, time.monotonic()
        client.settimeout(3 * outage + 5)
        while left:
            left -= len(client.recv(left))
        self.assertLess((time.monotonic() - begin) * 3, outage)
        self.assertEqual(telling.communicate()[1], "")

    def test_where_there_is_no_outage_those_that_were_told_go_on_at_once(self):
        clients = self.all_kinds(EACH)
        self.near()
        self.assertEqual(self.park(), len(clients))
        for one in clients:
            one.sendall(b"b")
        time.sleep(OUTAGE)
        self.open()
        done = self.run_program("go-on", self.parked)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertLess(max(self.answers(clients, 3 * OUTAGE + 5).values()) * 3, OUTAGE)

    def test_a_client_without_anything_to_say_is_told_as_well(self):
        clients = self.all_kinds(1)
        self.near()
        self.park()
        self.open()
        self.assertEqual(self.run_program("go-on", self.parked).returncode, 0)
        # Otherwise the data would wait for the answer to the client's probe.
        for one in clients:
            one.sendall(b"b")
        self.assertEqual([unsent(one) for one in clients], [0] * len(clients))
        self.answers(clients, OUTAGE + 5)

    def test_clients_that_nobody_tells_to_go_on_ask(self):
        clients = self.all_kinds(1)
        self.near()
        self.park()
        for one in clients:
            one.sendall(b"b")
        time.sleep(OUTAGE)
        self.open()
        self.answers(clients, 6 * OUTAGE + 5)

    def test_what_came_before_the_outage_is_acknowledged(self):
        clients = self.all_kinds(EACH)
        self.near()
        self.stop()
        for one in clients:
            one.sendall(b"b")
        shell("nft -f -", ZERO)
        self.assertEqual(self.run_program("park", self.list).returncode, 0)
        self.lock()
        begin = time.monotonic()
        while any(map(unacknowledged, clients)):
            self.assertLess(time.monotonic(), begin + 10, "data that nobody has acknowledged")
            time.sleep(0.01)
        self.open()
        self.answers(clients, OUTAGE + 5)

    def fill(self, client):
        """Have the client send, and read nothing, until the server's buffers are full as well."""
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        try:
            while True:
                client.send(b"x" * 65536)
        except BlockingIOError:
            time.sleep(0.5)

    def test_a_client_for_which_data_waits_is_left_alone(self):
        (client,) = self.connect("IPv4", 1)
        self.fill(client)
        self.near()
        self.assertEqual(self.park(), 0)
        self.open()
        # What it is told of is known of data that waits only.
        self.assertTrue(self.unpark().communicate()[0].startswith("round 1: 0 of 1 peers"))

    def test_a_connection_that_is_another_by_now_is_left_alone(self):
        old, _kept = self.connect("IPv4", 2)
        lines = self.near()
        old.close()
        time.sleep(0.2)
        self.leave([lines[0], *(line.replace(f" {PORT4} ", f" {PORT4 + 1} ") for line in lines[1:])])
        self.assertEqual(self.park(), 0)

    def test_a_filter_that_drops_the_segments_is_said_once(self):
        self.connect("IPv4", 2)
        self.near()
        self.stop()
        drop("filter", "output", "tcp flags == ack")
        done = self.run_program("park", self.list)
        why = "peers could not be sent TCP segments, which the node's packet filter drops: Operation not permitted\n"
        self.assertEqual((done.returncode, done.stderr), (1, why))
        shell("nft delete table inet filter")
        self.go_on()

    def test_damaged_lines_of_peers_that_wait_are_refused(self):
        words = ["parked", "0", "x0a630001", "7001", "x0a630002", "20000", "4294967295", "7", "501"]
        for at, wrong in (
            (0, "near"),
            (1, "-1"),
            (2, "x00"),
            (3, "65536"),
            (4, "x" + "00" * 16),
            (6, str(1 << 32)),
            (7, "x"),
            (8, "65536"),
        ):
            self.leave(["kup-fingerprint 3", " ".join([*words[:at], wrong, *words[at + 1 :]])], self.parked)
            done = self.run_program("go-on", self.parked)
            self.assertEqual(done.returncode, 1, wrong)
            self.assertRegex(done.stderr, "is not as it was written")

    def test_a_damaged_list_is_refused(self):
        self.connect("IPv4", 1)
        head, line = self.near()
        words = line.split()
        self.assertEqual(len(words), 8)
        for at, wrong in (
            (0, "sequence"),
            (1, "0"),
            (2, "-1"),
            (3, str(1 << 32)),
            (4, "x00"),
            (4, "x" + "00" * 16),
            (4, "0a630001"),
            (5, "65536"),
            (6, "x" + "00" * 17),
            (7, "x"),
        ):
            self.leave([head, " ".join([*words[:at], wrong, *words[at + 1 :]])])
            done = self.run_program("park", self.list)
            self.assertEqual(done.returncode, 1, wrong)
            self.assertRegex(done.stderr, "is not as it was written")


if __name__ == "__main__":
    Network.program = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1:
        OUTAGE = float(sys.argv.pop(1))
    unittest.main(verbosity=1)
