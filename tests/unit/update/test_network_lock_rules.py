"""The network lock as the kernel takes it: nft loads it, and spares the table with an owner when another nft flushes the ruleset."""

import shutil
import subprocess
import sys

import pytest
from fakenode import SCRIPTS
from fakesockets import socket

from ansible_collections.kup.fleet.plugins.module_utils._criu import command
from ansible_collections.kup.fleet.plugins.module_utils._update import network_lock

SOCKETS = [socket(), socket(local="10.77.0.11:50000", remote="10.77.0.1:5432", state="01")]

# A network of its own in which nft works.
ABLE = (
    shutil.which("nft")
    and not subprocess.run(["unshare", "--net", "nft", "list", "ruleset"], capture_output=True, check=False).returncode
)
needs_nft = pytest.mark.skipif(not ABLE, reason="needs root and nft")


@pytest.fixture
def network(tmp_path):
    """Runs lines of shell after lib/network.sh, with the lock of `SOCKETS` in its plan, in a network of its own; returns the output."""
    owner = tmp_path / "lock-owner"
    owner.mkdir()
    (tmp_path / "lock.nft").write_text(network_lock.ruleset(SOCKETS))
    (owner / "table.nft").write_text(network_lock.held_ruleset(SOCKETS))

    def run(script):
        head = f"plan={tmp_path} run={tmp_path}/run\nmkdir $run\n. {SCRIPTS}/lib/network.sh\nnft -f $plan/lock.nft\n"
        head += 'mkfifo "$plan/lock-owner/commands" "$plan/lock-owner/answers"\n'
        command_line = ["unshare", "--net", "/bin/sh", "-euc", head + script]
        return subprocess.run(command_line, check=True, capture_output=True, text=True, timeout=30).stdout

    return run


LOADED = "start_owner\nown_network_lock\nawait_owner\n"


def test_criu_s_own_packets_pass_before_anything_is_dropped():
    for text in (network_lock.ruleset(SOCKETS), network_lock.held_ruleset(SOCKETS)):
        for chain in text.split("chain ")[1:]:
            assert chain.index(f"mark {command.SOCKET_MARK:#x} accept") < chain.index("drop")


@needs_nft
@pytest.mark.parametrize(
    ("rules", "loaded"),
    [
        ("table ip filter {\n chain input { tcp dport 22 accept; }\n}\n", True),
        ("table ip filter {\n chain input { tcp dport ssh2 accept; }\n}\n", False),
        ("table ip filter {\n chain input { jump nowhere; }\n}\n", False),
        ("table ip filter {\n", False),
        ('include "/nonexistent/rules"\n', False),
        (
            "table ip filter {\n set s { type ipv4_addr; flags interval; elements = { 10.0.0.1-10.0.0.9, 10.0.0.5 } }\n}\n",
            False,
        ),
    ],
)
def test_its_owner_loads_the_packet_filter_whole_or_tells_why_not(network, tmp_path, rules, loaded):
    (tmp_path / "rules.nft").write_text(rules)
    (tmp_path / "packets.nft").write_text(f'include "{tmp_path}/rules.nft"\n' + network_lock.ruleset([]))
    said = network(
        "nft flush ruleset\nfilter_packets || cat $run/filter-said\necho tables:\nnft list tables\nend_owner"
    )
    complaint, tables = said.split("tables:\n")
    assert tables == "table ip filter\ntable inet kup\n" * loaded
    assert ("Error: " in complaint) == (not loaded)


@needs_nft
def test_a_flush_of_the_ruleset_does_not_lift_it(network):
    said = network(f"{LOADED}nft flush ruleset\nnft list ruleset\nopen_network")
    assert "table inet kup_held" in said
    assert "elements = { 11211 }" in said
    assert "table inet kup {" not in said


@needs_nft
def test_the_end_of_its_owner_does_not_lift_it(network):
    said = network(
        f"{LOADED}kill -KILL $(cat $run/lock-owner)\nwait || :\nnft list tables\nopen_network\necho opened\nnft list tables"
    )
    assert said == "table inet kup\nopened\n"


@needs_nft
@pytest.mark.parametrize("before", ["", "nft flush ruleset\n", "kill -KILL $(cat $run/lock-owner)\n"])
def test_it_is_lifted_whatever_has_happened(network, before):
    assert network(f"{LOADED}{before}open_network\nnft list table inet kup 2>&1 || :").startswith("Error: No such file")


@needs_nft
def test_once_lifted_nothing_is_left(network):
    assert network(f"{LOADED}open_network\nnft list ruleset") == ""


@needs_nft
def test_a_second_table_that_cannot_be_loaded_is_noticed(network):
    script = 'echo "table inet {" >"$plan/lock-owner/table.nft"\nstart_owner\nown_network_lock\nawait_owner || echo noticed\nopen_network\nnft list ruleset'
    assert network(script) == "noticed\n"


# A connection that leaves repair mode behind the lock, beside a filter that lets in only what belongs to a known connection.
TRACKED = """
import socket, subprocess, sys

def nft(text):
    subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True)

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.create_server(("127.0.0.1", 5432))
ours = socket.create_connection(("127.0.0.1", 5432))
ours.settimeout(5)
peer, _address = listener.accept()
lock = sys.stdin.read().replace("50000", str(ours.getsockname()[1]))
nft("table inet f {\\n chain c {\\n type filter hook input priority 0\\n ct state established accept\\n drop\\n }\\n}\\n" + lock)
ours.setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR
peer.sendall(b"an answer")
ours.setsockopt(socket.IPPROTO_TCP, 19, 0)
nft("delete table inet kup")
print(ours.recv(20).decode())
"""


@needs_nft
def test_a_filter_that_tracks_connections_knows_restored_ones():
    lock = network_lock.ruleset([socket(local="127.0.0.1:50000", remote="127.0.0.1:5432", state="01")])
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", TRACKED],
        input=lock,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout == "an answer\n", done.stderr


NEWCOMERS = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.create_server(("127.0.0.1", 11211))
client = socket.create_connection(("127.0.0.1", 11211))
server = listener.accept()[0]
subprocess.run(["nft", "-f", sys.argv[1]], check=True)
client.sendall(b"x")
print(server.recv(9), flush=True)
try:
    socket.create_connection(("127.0.0.1", 11211), 0.5)
    print("came in")
except TimeoutError:
    print("waits")
"""


@needs_nft
def test_newcomers_wait_and_clients_are_served(tmp_path):
    (tmp_path / "lock.nft").write_text(network_lock.newcomers(SOCKETS))
    command_line = ["unshare", "--net", sys.executable, "-c", NEWCOMERS, tmp_path / "lock.nft"]
    done = subprocess.run(command_line, check=True, capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == ["b'x'", "waits"]


def test_without_a_server_there_are_no_newcomers():
    assert network_lock.newcomers(SOCKETS[1:]) == ""
