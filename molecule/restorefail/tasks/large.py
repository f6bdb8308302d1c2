"""A service with most of its node's memory in one mapping.

large.py install   on a node: put it there as large.service, start it, and write down what it says
large.py serve     the service: says a digest of all its memory to whoever connects to loopback port 7071
large.py check     exit code 1 and a sentence if it says anything else now
"""

import hashlib
import mmap
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time

ADDRESS = ("127.0.0.1", 7071)
MIB = 1 << 20
# Of a node with 1280 MiB: more than the next kernel has left when this much is kept for it, which is more than the 512 MiB below
# which a kernel makes no huge pages by itself.
SIZE = 620 * MIB
# Seconds until its memory is filled, or digested.
PATIENCE = 120

PROGRAM = pathlib.Path("/usr/local/bin/large")
BEFORE = pathlib.Path("/var/tmp/large.before")
UNIT = f"""[Service]
ExecStart=/usr/bin/python3 {PROGRAM} serve
"""


def serve():
    memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for start in range(0, SIZE, MIB):
        memory[start : start + MIB] = random.randbytes(MIB)
    with socket.create_server(ADDRESS) as server:
        while True:
            client, _address = server.accept()
            with client:
                client.sendall(hashlib.blake2b(memory).hexdigest().encode())


def answer():
    with socket.create_connection(ADDRESS, timeout=PATIENCE) as connection:
        return connection.makefile().read()


def install():
    shutil.copyfile(__file__, PROGRAM)
    pathlib.Path("/etc/systemd/system/large.service").write_text(UNIT, encoding="utf-8")
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "start", "large.service"], check=True)
    for _second in range(PATIENCE):
        try:
            return BEFORE.write_text(answer(), encoding="utf-8")
        except ConnectionRefusedError:
            time.sleep(1)
    sys.exit(f"large.service did not answer within {PATIENCE} s of its start.")


def check():
    before, now = BEFORE.read_text(encoding="utf-8"), answer()
    if not before or now != before:
        sys.exit(f"The digest of large.service's memory is {now!r}, expected {before!r}.")


if __name__ == "__main__":
    {"serve": serve, "install": install, "check": check}[sys.argv[1]]()
