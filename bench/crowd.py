"""Processes for bench/limits.py to look at: many connections, many processes, or many mappings.

    crowd.py connections NUMBER PROCESSES PEERS     half of them come in, half go out, each from or to another address
    crowd.py peers NUMBER SERVER PEERS                     the other ends
    crowd.py processes NUMBER
    crowd.py mappings NUMBER

Prints a line when all are there (process ids; peers print none), and ends with its standard input.
"""

import ctypes
import ipaddress
import mmap
import os
import resource
import signal
import socket
import sys

IN, OUT = 7000, 7001
_SHARE = 1000
_PAGE = mmap.PAGESIZE
_MADV_NOHUGEPAGE = 15


def main():
    os.closerange(3, 100)  # what the shell had open
    what, *words = sys.argv[1:]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept = {"connections": connections, "peers": peers, "processes": processes, "mappings": mappings}[what](*words)
    sys.stdin.read()
    del kept


def _tell(pids):
    print(*pids, flush=True)


def _wait():
    """Hold what this process has for as long as its parent lives."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    while True:
        signal.pause()


def _addresses(first, number):
    start = int(ipaddress.ip_address(first))
    return (str(ipaddress.ip_address(start + each)) for each in range(number))


def connections(number, processes, first):
    """Hold NUMBER connections, spread over PROCESSES."""
    number, processes = int(number), int(processes)
    incoming = number // 2
    listener = socket.create_server(("0.0.0.0", IN), backlog=65535)
    _tell(["listening"])
    pids = []
    for each in range(processes):
        accepted = incoming * (each + 1) // processes - incoming * each // processes
        outgoing = number - incoming
        mine = range(outgoing * each // processes, outgoing * (each + 1) // processes)
        ready = os.pipe()
        pid = os.fork()
        if not pid:
            held = [listener.accept()[0] for _number in range(accepted)]
            addresses = list(_addresses(first, number))[incoming:]
            held += [socket.create_connection((addresses[one], OUT)) for one in mine]
            os.write(ready[1], b"1")
            _wait()
        os.close(ready[1])
        os.read(ready[0], 1)
        os.close(ready[0])
        pids.append(pid)
    _tell(pids)
    return listener


def peers(number, server, first):
    """The other ends: connect from the first half of the addresses, and accept the rest; a process has a thousand of each."""
    number = int(number)
    incoming = number // 2
    listener = socket.create_server(("0.0.0.0", OUT), backlog=65535)
    addresses = list(_addresses(first, incoming))
    for at in range(0, number - incoming, _SHARE):
        if not os.fork():
            held = [
                socket.create_connection((server, IN), source_address=(address, 0))
                for address in addresses[at : at + _SHARE]
            ]
            held += [listener.accept()[0] for _number in range(min(_SHARE, number - incoming - at))]
            _wait()


def processes(number):
    """NUMBER processes."""
    pids = []
    for _each in range(int(number)):
        pid = os.fork()
        if not pid:
            _wait()
        pids.append(pid)
    _tell(pids)


def mappings(number):
    """One process with NUMBER mappings: pages of one reservation with other rights in turn, so that none joins the next."""
    size = int(number) * _PAGE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    start = libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_NOHUGEPAGE)
    for at in range(start, start + size, 2 * _PAGE):
        if libc.mprotect(at, _PAGE, mmap.PROT_READ | mmap.PROT_WRITE):
            sys.exit(f"crowd: {os.strerror(ctypes.get_errno())}; raise vm.max_map_count")
    _tell([os.getpid()])


if __name__ == "__main__":
    main()
