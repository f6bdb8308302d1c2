"""For units with a watchdog: signs of life for systemd, and what it makes of them."""

import os
import socket
import subprocess
import threading
import time


def _notify(interval):
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
        time.sleep(interval)


def show_life(interval):
    """Send a sign of life every INTERVAL seconds, from now on."""
    threading.Thread(target=_notify, args=(interval,), daemon=True).start()


def watchdog(unit):
    """The watchdog of UNIT, and whether it is armed."""
    argv = ["systemctl", "show", "--property=WatchdogUSec,WatchdogTimestampMonotonic", unit]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    shown = dict(line.split("=", 1) for line in said.splitlines())
    # systemd has taken a sign of life: it counts from there.
    armed = shown.get("WatchdogTimestampMonotonic", "0") not in ("", "0")
    return {"timeout": shown.get("WatchdogUSec"), "armed": armed}
