"""A descriptor that an epoll watches once and that has fired, and a file that was made without a name"""

import os
import select
import socket

MUST = {"fires": [], "rearmed": 1, "text": "nameless"}


def program():
    one, other = socket.socketpair()
    epoll = select.epoll()
    epoll.register(one, select.EPOLLIN | select.EPOLLONESHOT)
    other.send(b"x")
    epoll.poll()
    file = os.open("/var/tmp", os.O_RDWR | os.O_TMPFILE, 0o600)
    os.write(file, b"nameless")

    def observe():
        fires = epoll.poll(0)
        epoll.modify(one, select.EPOLLIN | select.EPOLLONESHOT)
        return {
            "fires": fires,
            "rearmed": len(epoll.poll(0)),
            "closed": other.fileno() < 0,
            "text": os.pread(file, 99, 0).decode(),
        }

    return observe
