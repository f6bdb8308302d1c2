# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that stands still, and its clients, in two network namespaces of their own."""

import ctypes
import itertools
import os
import select
import selectors
import signal
import socket
import subprocess
import tempfile
import time
import unittest

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
LIBC = ctypes.CDLL(None, use_errno=True)
TCP_REPAIR, TCP_REPAIR_QUEUE, LEAVE_WITHOUT_PROBE, SEND_QUEUE = 19, 20, -1, 2


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


def wait_for_routes(*addresses):
    """The kernel notices a moment after `ip link set up` that a link works, and has no IPv6 route before."""
    end = time.monotonic() + 10
    for address in addresses:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            while one.connect_ex(socket.getaddrinfo(address, 9)[0][4]):
                assert time.monotonic() < end, f"no route to {address}"
                time.sleep(0.01)


class Network(unittest.TestCase):
    #: What is tested.
    program = None

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

    def stop(self):
        """Have the server stand still."""
        os.kill(self.server, signal.SIGSTOP)
        os.waitid(os.P_PID, self.server, os.WSTOPPED | os.WNOWAIT)

    def go_on(self):
        os.kill(self.server, signal.SIGCONT)

    @staticmethod
    def lock():
        """Drop all packets of the connections."""
        for hook, end in ("input", "dport"), ("output", "sport"):
            drop("lock", hook, f"tcp {end} {PORT4}-{PORT_BOTH}")

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

    def run_program(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, check=False)

    def record(self):
        """Lines of the server's record, which stands still meanwhile."""
        self.stop()
        lines = self.recorded()
        self.go_on()
        return lines

    def recorded(self):
        """Lines of its record where it stands still, with its connections in repair mode, as CRIU leaves them."""
        held = list(copies(self.server))
        for one in held:
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
        done = self.run_program("record", str(self.server))
        for one in held:
            self.assertEqual(one.getsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE), SEND_QUEUE)
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, LEAVE_WITHOUT_PROBE)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # which repair mode takes away
            one.close()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def write(self, lines):
        with open(self.path, "w", encoding="ascii") as stream:
            stream.writelines(f"{line}\n" for line in lines)
