"""A TCP connection with kernel TLS"""

import socket
import struct

FILES = {"/etc/modules-load.d/case-ktls.conf": "tls\n"}
SETUP = "modprobe tls"
MUST = {"protocol": "tls", "plain": False}
REFUSAL = "TLS"


def program():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _peer = listener.accept()
    listener.close()
    receiver.settimeout(3)
    sender.setsockopt(socket.IPPROTO_TCP, 31, b"tls")  # TCP_ULP
    # TLS 1.2, AES-GCM-128: iv, key, salt, sequence number
    keys = struct.pack("HH8s16s4s8s", 0x303, 51, b"i" * 8, b"k" * 16, b"s" * 4, bytes(8))
    sender.setsockopt(282, 1, keys)  # SOL_TLS, TLS_TX

    def observe():
        sender.send(b"A SECRET")
        seen = receiver.recv(4096)
        name = sender.getsockopt(socket.IPPROTO_TCP, 31, 16).rstrip(b"\0").decode()
        return {"protocol": name, "plain": b"SECRET" in seen}

    return observe
