"""A drop-in of systemctl edit --runtime, a property set with set-property, and a status text"""

import os
import socket
import subprocess

UNIT = "case-runtime-drop-in.service"
SERVICE = "Type=notify\nNotifyAccess=main"
FILES = {f"/run/systemd/system/{UNIT}.d/override.conf": "[Service]\nEnvironment=CASE=1\nRuntimeMaxSec=30d\n"}
SETUP = f"systemctl set-property --runtime {UNIT} TasksMax=50"
SHOWN = ("RuntimeMaxUSec", "TasksMax", "StatusText", "Type")
MUST = {"TasksMax": "50", "StatusText": "Serving all of it"}


def program():
    address = os.environ["NOTIFY_SOCKET"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"STATUS=Serving all of it\nREADY=1", "\0" + address[1:] if address[0] == "@" else address)
    return lambda: {"environment": os.environ.get("CASE")}


def look():
    argv = ["systemctl", "show", f"--property={','.join(SHOWN)}", UNIT]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return dict(line.split("=", 1) for line in said.splitlines())
