"""A listener on an address, and a route, that somebody has added while the node ran, as a load balancer that has become the master"""

import socket
import subprocess

VIP, FAR = "10.77.0.99", "203.0.113.0/24"
SETUP = f"""
card=$(ip -o -4 route get 10.77.0.1 | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')
ip address replace {VIP}/32 dev "$card"
ip route replace {FAR} via 10.77.0.1 dev "$card"
"""
MUST = {"address": True, "route": True}


def program():
    listener = socket.socket()
    listener.bind((VIP, 5010))
    listener.listen(16)

    def observe():
        with socket.create_connection(listener.getsockname(), 5):
            listener.accept()[0].close()
        return {"bound": listener.getsockname()[0]}

    return observe


def look():
    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).stdout

    return {"address": f" {VIP}/32 " in ip("-o", "address"), "route": f"{FAR} via 10.77.0.1" in ip("route")}
