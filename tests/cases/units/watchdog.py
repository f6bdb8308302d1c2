"""A service that systemd watches (WatchdogSec=)"""

import os
import socket
import subprocess
import threading
import time

SERVICE = "Type=notify\nNotifyAccess=main\nWatchdogSec=10\nRestart=on-failure"
# systemd would end it where an update of many units freezes it for longer.
ALONE = True
MUST = {"armed": True}


def _notify():
    address = os.environ["NOTIFY_SOCKET"]
    address = "\0" + address[1:] if address.startswith("@") else address
    message = b"READY=1"
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            try:
                client.sendto(message, address)
                message = b"WATCHDOG=1"
            except OSError:
                pass
        time.sleep(2)


def program():
    threading.Thread(target=_notify, daemon=True).start()
    return dict


def look():
    argv = ["systemctl", "show", "--property=WatchdogUSec,WatchdogTimestampMonotonic", "case-watchdog.service"]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    shown = dict(line.split("=", 1) for line in said.splitlines())
    # systemd has taken a sign of life: it counts from there.
    armed = shown.get("WatchdogTimestampMonotonic", "0") not in ("", "0")
    return {"timeout": shown.get("WatchdogUSec"), "armed": armed}
