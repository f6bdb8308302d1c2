"""A unix listener in a directory of /run that systemd-tmpfiles makes, as /run/mysqld"""

import socket
import threading

from service import greet, greeting

PATH = "/run/case-run-dir/socket"
FILES = {"/etc/tmpfiles.d/case-run-dir.conf": "d /run/case-run-dir 0751 root daemon -\n"}
SETUP = f"systemd-tmpfiles --create /etc/tmpfiles.d/case-run-dir.conf; rm -f {PATH}"


def program():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PATH)
    listener.listen(16)
    threading.Thread(target=greet, args=(listener,), daemon=True).start()
    return dict


def look():
    import os

    try:
        found = os.stat("/run/case-run-dir")
    except OSError as error:
        return {"directory": str(error), "greeting": ""}
    return {"directory": [oct(found.st_mode), found.st_uid, found.st_gid], "greeting": greeting(PATH)}
