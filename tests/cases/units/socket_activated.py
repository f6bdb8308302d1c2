"""A service with a .socket unit"""

import socket
import subprocess

SOCKET = "case-socket-activated.socket"
SERVICE = f"Sockets={SOCKET}"
FILES = {f"/etc/systemd/system/{SOCKET}": "[Socket]\nListenStream=5032\n[Install]\nWantedBy=sockets.target\n"}
SETUP = f"systemctl stop case-socket-activated; systemctl enable -q {SOCKET}; systemctl restart {SOCKET}"
REFUSAL = "is activated by"
ALONE = True
REFUSAL = r"is activated by case-socket-activated\.socket"
MUST = {"socket": "active"}


def program():
    listener = socket.socket(fileno=3)
    return lambda: {"port": listener.getsockname()[1]}


def look():
    said = subprocess.run(["systemctl", "is-active", SOCKET], capture_output=True, text=True, check=False).stdout
    return {"socket": said.strip()}
