"""In a network namespace of its own: a connection that a rule has redirected, which connection tracking forgets and is told of again.

redirected.py FAMILY; prints what the client got from the server: without being told, and told.
"""

import os
import socket
import struct
import subprocess
import sys

from ansible_collections.kup.fleet.plugins.module_utils._environment import tracked
from ansible_collections.kup.fleet.plugins.module_utils._system import netlink
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process
from ansible_collections.kup.fleet.plugins.module_utils._system.sockets import Tables

PORT, OWN = 80, 8080
NETFILTER, DELETE = 12, 0x102
RULES = f"""table inet nat {{
    chain out {{
        type nat hook output priority -100; policy accept;
        tcp dport {PORT} redirect to :{OWN}
    }}
}}
"""


def tell(message):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as kernel:
        kernel.send(message)
        kind, body = next(netlink.messages(kernel.recv(netlink.BUFFER)))
        assert kind == netlink.ERROR
        return netlink.code(body)


def forget(family):
    assert not tell(netlink.message(DELETE, netlink.REQUEST | netlink.ACK, struct.pack("=BBH", family, 0, 0)))


def answer(family, address, is_told):
    with socket.socket(family) as listener, socket.socket(family) as client:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, OWN))
        listener.listen()
        client.settimeout(1)
        client.connect((address, PORT))
        with listener.accept()[0] as server:
            sockets = Tables().of(Process(os.getpid()))
            known = tracked.Tracked()
            known.look(sockets)
            messages = known.messages(sockets)
            forget(family)
            if is_told:
                assert len(list(netlink.messages(messages))) == 2  # one for each end
                # The second is of the same connection: it is known already.
                size = len(messages) // 2
                assert (tell(messages[:size]), tell(messages[size:])) == (0, 17)
                known = tracked.Tracked()
                known.look(sockets)
                assert len(known.messages(sockets)) >= size
            server.send(b"not asked for")
            try:
                return client.recv(100).decode()
            except OSError:
                return ""


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
    family, address = (socket.AF_INET, "127.0.0.1") if sys.argv[1] == "AF_INET" else (socket.AF_INET6, "::1")
    print([answer(family, address, is_told) for is_told in (False, True)])


if __name__ == "__main__":
    main()
