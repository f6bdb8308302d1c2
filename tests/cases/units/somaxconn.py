"""A listener with a long queue, net.core.somaxconn raised while the node ran"""

import socket
import subprocess

SETUP = "sysctl -qw net.core.somaxconn=16384"
MUST = {"queue": "12000"}


def program():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 5034))
    listener.listen(12000)
    return lambda: {"port": listener.getsockname()[1]}


def look():
    found = subprocess.run(["ss", "-Hltn", "sport = :5034"], capture_output=True, text=True, check=False).stdout.split()
    return {"queue": found[2] if found else "nobody listens"}
