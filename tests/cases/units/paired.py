"""Unix connections of every kind to another unit that is carried as well"""

import contextlib
import os
import socket
import struct
import subprocess
import threading
import time

from service import ask, serve

CARRIED = True
PATH, ABSTRACT, PACKETS = "/run/peer-paired", "\0peer-paired", "/run/peer-paired-packets"
SERVER = 5023
NOBODY = 65534
# Larger than one buffer of the kernel's; smaller than what a queue takes.
TO_CLIENT = bytes(range(251)) * 400
TO_SERVER = b"nobody has read this"
PARCELS = (b"one", b"2", b"three" * 1000)
SECONDS = 10


def exactly(stream, size):
    """Read SIZE bytes; fewer if there are no more."""
    found = b""
    while len(found) < size:
        part = stream.recv(size - len(found))
        if not part:
            break
        found += part
    return found


def credentials(stream):
    """Return who made the other end: its pid, user and group, and its further groups."""
    pid, user, group = struct.unpack("3i", stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    groups = stream.getsockopt(socket.SOL_SOCKET, 59, 256)  # SO_PEERGROUPS
    return [pid, user, group, *struct.unpack(f"{len(groups) // 4}I", groups)]


def names(stream):
    return [str(stream.getsockname()), str(stream.getpeername())]


def queue(stream):
    """Return how many bytes wait in the queue, and the sum of them; they stay there."""
    try:
        found = stream.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return [0, 0]
    return [len(found), sum(found)]


def listening(address, kind=socket.SOCK_STREAM):
    if not address.startswith("\0"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(address)
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.bind(address)
    if not address.startswith("\0"):
        os.chmod(address, 0o777)
    listener.listen(8)
    return listener


def connected(address, kind=socket.SOCK_STREAM, name=None):
    stream = socket.socket(socket.AF_UNIX, kind)
    if name:
        stream.bind(name)
    for _number in range(50):
        with contextlib.suppress(OSError):
            stream.connect(address)
            break
        time.sleep(0.2)
    stream.settimeout(SECONDS)
    return stream


def peer():
    """Accept what `program` makes, in the same order, and do what it says over the first connection."""
    plain, abstract, packets = listening(PATH), listening(ABSTRACT), listening(PACKETS, socket.SOCK_SEQPACKET)
    ends = {name: plain.accept()[0] for name in ("orders", "full", "half", "nobody")}
    ends["abstract"], ends["packets"] = abstract.accept()[0], packets.accept()[0]
    ends["pair"], theirs = socket.socketpair()
    with theirs:
        socket.send_fds(ends["orders"], [b"pair"], [theirs.fileno()])
    ends["full"].sendall(TO_CLIENT)

    def obey():
        while True:
            order = exactly(ends["orders"], 4)
            if order == b"half":
                ends["half"].sendall(b"answer")
            elif order == b"pack":
                for parcel in PARCELS:
                    ends["packets"].send(parcel)
            elif order == b"echo":
                for name in ("nobody", "abstract", "pair"):
                    ends[name].sendall(exactly(ends[name], 4))
            ends["orders"].sendall(order)

    threading.Thread(target=obey, daemon=True).start()
    serve(
        SERVER,
        lambda: {
            "names": {name: names(end) for name, end in ends.items()},
            "credentials": {name: credentials(end) for name, end in ends.items()},
            "queue": queue(ends["full"]),
            "ended": ends["half"].recv(9).hex(),
        },
    )


@contextlib.contextmanager
def nobody():
    """Be another user with other groups for a moment."""
    groups = os.getgroups()
    os.setgroups([7, NOBODY])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def program():
    ends = {name: connected(PATH) for name in ("orders", "full", "half")}
    with nobody():
        ends["nobody"] = connected(PATH)
    ends["abstract"] = connected(ABSTRACT, name="\0case-paired")
    ends["packets"] = connected(PACKETS, socket.SOCK_SEQPACKET)
    _word, (number,), _flags, _address = socket.recv_fds(ends["orders"], 4, 1)
    ends["pair"] = socket.socket(fileno=number)
    ends["pair"].settimeout(SECONDS)
    ends["full"].sendall(TO_SERVER)
    ends["half"].shutdown(socket.SHUT_WR)
    # Another process with the same end.
    subprocess.Popen(["sleep", "infinity"], pass_fds=[ends["abstract"].fileno()])
    orders = ends["orders"]

    def tell(order):
        orders.sendall(order)
        return exactly(orders, len(order)).decode()

    tell(b"pack")

    def observe():
        packets = [list(map(len, PARCELS)), [ends["packets"].recv(1 << 16) == parcel for parcel in PARCELS]]
        found = {
            "refilled": tell(b"pack"),
            "packets": packets,
            "half": tell(b"half") and exactly(ends["half"], 6).decode(),
        }
        for name in ("nobody", "abstract", "pair"):
            ends[name].sendall(name[:4].encode())
        found["orders"] = tell(b"echo")
        found["echoes"] = [exactly(ends[name], 4).decode() for name in ("nobody", "abstract", "pair")]
        found["names"] = {name: names(end) for name, end in ends.items()}
        found["credentials"] = {name: credentials(end) for name, end in ends.items()}
        found["queue"] = queue(ends["full"])
        return found

    return observe


def look():
    return {"server": ask(SERVER)}
