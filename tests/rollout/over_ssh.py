"""Nodes that a table answers for (`tests.rollout`), reached by the real ssh(1): an sshd(8) of our own, at one address of the loopback for each.

python3 -m tests.rollout.over_ssh      answers for one, as the command that sshd forces on every login
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from lab.paths import COLLECTIONS, REPO

sys.path.insert(0, str(COLLECTIONS))

from tests.rollout import answers

PORT = 2277
LISTENING = 16  # addresses of one sshd(8) (MAX_LISTEN_SOCKS)
PATIENCE = 10  # seconds
CONFIG = """
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/login_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 1000
ForceCommand cd {repo} && exec env KUP_CANNED={canned} KUP_NAMES={folder}/names {python} -m tests.rollout.over_ssh
"""


def address(number):
    """The node's address; the first is number 0."""
    return f"127.77.{number // 250}.{number % 250 + 1}"


@contextlib.contextmanager
def serving(folder, canned, names):
    """Answer for the nodes ``names``, in order, with the table in the directory ``canned``; yields name → variables of the inventory.

    :param folder: an empty directory.
    """
    for key in ("host_key", "login_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    addresses = {name: address(number) for number, name in enumerate(names)}
    text = CONFIG.format(
        port=PORT,
        folder=folder,
        canned=canned,
        repo=REPO,
        python=sys.executable,
    )
    (folder / "names").write_text("".join(f"{each} {name}\n" for name, each in addresses.items()))
    # What sshd takes its privileges from itself in.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with contextlib.ExitStack() as servers:
        for first in range(0, len(names), LISTENING):
            own = list(addresses.values())[first : first + LISTENING]
            servers.enter_context(_server(folder / f"config{first}", text, own))
        yield {
            name: {
                "ansible_connection": "ssh",
                "ansible_host": each,
                "ansible_port": PORT,
                "ansible_ssh_private_key_file": str(folder / "login_key"),
                "ansible_ssh_common_args": "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            }
            for name, each in addresses.items()
        }


@contextlib.contextmanager
def _server(config, text, addresses):
    """Run a server at these addresses with the settings ``text``, which are written to the file ``config``."""
    config.write_text(text + "".join(f"ListenAddress {each}\n" for each in addresses))
    with subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", str(config)], stderr=subprocess.DEVNULL) as server:
        try:
            _wait(server, addresses[-1])
            yield
        finally:
            server.terminate()


def _wait(server, last):
    """Wait until the server greets at the last of its addresses."""
    until = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError), socket.create_connection((last, PORT)):
            return
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("sshd(8) did not start.")
        time.sleep(0.05)


def main():
    """Answer the login that this process is for; a terminal has sent nothing."""
    own = os.environ["SSH_CONNECTION"].split()[2]
    names = dict(line.split() for line in Path(os.environ["KUP_NAMES"]).read_text().splitlines())
    sent = b"" if os.isatty(0) else sys.stdin.buffer.read()
    try:
        sys.stdout.buffer.write(answers.answer(names[own], os.environ["SSH_ORIGINAL_COMMAND"], sent))
    except answers.GoneError:
        sys.exit(255)  # as ssh(1) does


if __name__ == "__main__":
    main()
