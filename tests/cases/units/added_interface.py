"""A listener on an address of an interface that somebody has made while the node ran, as for an address that several nodes have"""

import socket
import subprocess

VIP = "192.0.2.77"
SETUP = f"""
ip link show dev any0 >/dev/null 2>&1 || ip link add any0 type dummy
ip address replace {VIP}/32 dev any0
ip link set any0 up
"""
MUST = {"address": True}


def program():
    listener = socket.socket()
    listener.bind((VIP, 5011))
    listener.listen(16)

    def observe():
        with socket.create_connection(listener.getsockname(), 5):
            listener.accept()[0].close()
        return {"bound": listener.getsockname()[0]}

    return observe


def look():
    shown = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=False).stdout
    return {"address": f"any0    inet {VIP}/32 " in shown}
