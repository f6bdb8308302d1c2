"""A listener with a key of TCP-MD5, as routers have it for their neighbours"""

import socket
import struct

REFUSAL = "has keys of TCP-MD5"
# <linux/tcp.h>: TCP_MD5SIG, and struct tcp_md5sig with a key of six bytes for one address.
MD5SIG = 14
KEY = struct.pack("=H2x4s120x", socket.AF_INET, socket.inet_aton("127.0.0.1")) + struct.pack(
    "=BBHi80s", 0, 0, 6, 0, b"secret"
)
MUST = {"answers": True}


def program():
    listener = socket.socket()
    listener.setsockopt(socket.IPPROTO_TCP, MD5SIG, KEY)
    listener.bind(("127.0.0.1", 5031))
    listener.listen(8)

    def observe():
        with socket.socket() as client:
            client.setsockopt(socket.IPPROTO_TCP, MD5SIG, KEY)
            client.settimeout(3)
            try:
                client.connect(listener.getsockname())
                listener.accept()[0].close()
            except TimeoutError:
                return {"answers": False}
        return {"answers": True}

    return observe
