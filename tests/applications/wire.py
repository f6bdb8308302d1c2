"""Connections into a lab, from where its clients are."""

import ctypes
import os
import pathlib
import socket
import threading

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_TCP_CLOSE = 7  # state of a connection that was reset (include/net/tcp_states.h)
# Seconds for an answer after an outage: TCP doubles the time between its attempts.
PATIENCE = 240


def _stream(address):
    return socket.create_connection(address, 30)


def _datagrams(address):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.connect(address)
    return made


def _connect(netns, address, connection, made):
    """Have CONNECTION connect to ADDRESS from the network namespace of the name NETNS; for a thread of its own, which stays there."""
    place = os.open(pathlib.Path("/run/netns", netns), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(place, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"the namespace {netns} cannot be entered")
        made.append(connection(address))
    except OSError as error:
        made.append(error)
    finally:
        os.close(place)


def connect(netns, address, datagrams=False):
    """Return a Wire to ADDRESS (host, port), or Datagrams: a socket stays in the namespace in which it was made."""
    made = []
    thread = threading.Thread(target=_connect, args=(netns, address, _datagrams if datagrams else _stream, made))
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return Datagrams(made[0]) if datagrams else Wire(made[0])


class Datagrams:
    """Datagrams to and from one address."""

    def __init__(self, connection):
        connection.settimeout(PATIENCE)
        self._socket = connection

    def send(self, data):
        self._socket.send(data)

    def take(self):
        """Return the next one."""
        return self._socket.recv(65536)


class Wire:
    """A connection whose answers are read by lines or by counts of bytes."""

    def __init__(self, connection):
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._reader = connection, connection.makefile("rb")

    def send(self, data):
        self._socket.sendall(data)

    def reset(self):
        """Return whether the connection is no more: the node has reset it, or has not acknowledged for too long, or it is closed."""
        if self._socket.fileno() < 0:
            return True
        return self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE

    def close(self):
        self._reader.close()
        self._socket.close()

    def line(self):
        """Return the next line without its end."""
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the node closed it")
        return line.rstrip(b"\r\n")

    def take(self, count):
        """Return the next COUNT bytes."""
        data = self._reader.read(count)
        if len(data) < count:
            raise ConnectionResetError("the node closed it")
        return data


def values(name, count):
    """Return COUNT pairs (key, value) of bytes: what an application is to remember."""
    return [(b"%s-%d" % (name, number), b"%d:" % number + b"v" * (number % 97)) for number in range(count)]
