"""A unix listener that was bound under another name and then renamed, as haproxy does"""

import os
import socket
import threading

from service import greet, greeting

PLACE = "/run/case-renamed-socket"
REFUSAL = "has another name now"
SERVICE = "RuntimeDirectory=case-renamed-socket"


def program():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{PLACE}/socket.new")
    listener.listen(16)
    os.rename(f"{PLACE}/socket.new", f"{PLACE}/socket")
    threading.Thread(target=greet, args=(listener,), daemon=True).start()
    return dict


def look():
    return {"greeting": greeting(f"{PLACE}/socket"), "files": sorted(os.listdir(PLACE))}
