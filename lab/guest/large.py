"""A service whose memory is one mapping that it never changes after its start.

large.py install MIB   on a node: install it as large.service, start it, and save its digest
large.py serve MIB     the service: sends a digest of its memory to each client of loopback port 7071
large.py check         exit code 1 and a sentence if the digest differs from the saved one
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
# Seconds until its memory is filled, or digested.
PATIENCE = 120

PROGRAM = pathlib.Path("/usr/local/bin/large")
BEFORE = pathlib.Path("/var/tmp/large.before")
UNIT = f"""[Service]
ExecStart=/usr/bin/python3 {PROGRAM} serve {{mib}}
"""


def serve(mib):
    memory = mmap.mmap(-1, mib * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for start in range(0, len(memory), MIB):
        memory[start : start + MIB] = random.randbytes(MIB)
    with socket.create_server(ADDRESS) as server:
        while True:
            client, _address = server.accept()
            with client:
                client.sendall(hashlib.blake2b(memory).hexdigest().encode())


def answer():
    with socket.create_connection(ADDRESS, timeout=PATIENCE) as connection:
        return connection.makefile().read()


def install(mib):
    shutil.copyfile(__file__, PROGRAM)
    pathlib.Path("/etc/systemd/system/large.service").write_text(UNIT.format(mib=mib), encoding="utf-8")
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
    {"serve": serve, "install": install, "check": check}[sys.argv[1]](*map(int, sys.argv[2:]))
