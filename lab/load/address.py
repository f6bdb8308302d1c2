"""Where a node's memcached listens, resolved once: a prober must not ask a name server 50 times a second."""

import socket

from .errors import LoadError


class Address:
    """A resolved TCP endpoint: `family` and `sockaddr` for the socket calls, `text` (`host:port`) for people."""

    def __init__(self, host, port):
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise LoadError(f"host {host!r} cannot be resolved ({error}); give the node's address") from error
        self.family, self.sockaddr = found[0][0], found[0][4]
        self.host, self.port = host, port
        self.text = f"{host}:{port}"
