"""A listener on an address that the node does not have, as a load balancer on standby"""

import socket
import subprocess

VIP = ("192.0.2.55", 5009)


def program():
    listener = socket.socket()
    listener.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
    listener.bind(VIP)
    listener.listen(16)
    return lambda: {"bound": listener.getsockname()[0]}


def look():
    sockets = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=False).stdout
    return {"listens": "{}:{}".format(*VIP) in sockets}
