"""Connections that syslog(3) and its like leave open: to /dev/log, to the journal's own socket, and to systemd's notifications"""

import contextlib
import itertools
import json
import socket
import subprocess
import threading
import time

SERVICE = "NotifyAccess=main\nPrivateDevices=yes"
PEERS = ("/dev/log", "/run/systemd/journal/socket", "/run/systemd/notify")
UNIT = "case-datagrams.service"


def connected(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.connect(path)
    return one


def beat(syslog, journal, systemd):
    for number in itertools.count():
        # A full queue of one of them is not what this is about.
        with contextlib.suppress(BlockingIOError):
            syslog.send(b"<14>case-datagrams: beat")
            journal.send(b"MESSAGE=beat\nSYSLOG_IDENTIFIER=case-datagrams-native\n")
            systemd.send(b"STATUS=beat %d" % number)
        time.sleep(0.5)


def program():
    sockets = [connected(path) for path in PEERS]
    thread = threading.Thread(target=beat, args=sockets)
    thread.start()
    return lambda: {"peers": [one.getpeername() for one in sockets], "beats": thread.is_alive()}


def logged(identifier):
    """Return the newest message of this boot: [pid, unit, text]."""
    command = ["journalctl", "-q", "-b", "-n1", "-ojson", f"SYSLOG_IDENTIFIER={identifier}"]
    for _try in range(40):
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        if said:
            return [json.loads(said)[key] for key in ("_PID", "_SYSTEMD_UNIT", "MESSAGE")]
        time.sleep(0.5)
    return []


def status():
    return subprocess.run(["systemctl", "show", "-PStatusText", UNIT], stdout=subprocess.PIPE, check=True).stdout


def look():
    said = status()
    deadline = time.monotonic() + 20
    while status() == said and time.monotonic() < deadline:
        time.sleep(0.5)
    return {
        "syslog": logged("case-datagrams"),
        "journal": logged("case-datagrams-native"),
        "notifications": said[:4].decode() if status() != said else "none",
    }
