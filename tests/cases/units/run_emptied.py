"""A unix listener in a directory of /run that tmpfiles.d declares with D, which empties it on request"""

import socket
import threading

from service import greet, greeting

PATH = "/run/case-run-emptied/socket"
FILES = {"/etc/tmpfiles.d/case-run-emptied.conf": "D /run/case-run-emptied 0755 root root -\n"}
SETUP = f"systemd-tmpfiles --create /etc/tmpfiles.d/case-run-emptied.conf; rm -f {PATH}"


def program():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PATH)
    listener.listen(16)
    threading.Thread(target=greet, args=(listener,), daemon=True).start()
    return dict


def look():
    return {"greeting": greeting(PATH)}
