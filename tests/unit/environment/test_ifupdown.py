"""ifupdown in a boot whose interfaces have their addresses already."""

import pathlib
import shlex
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import ifupdown

PROGRAM = pathlib.Path(__file__).parents[3] / "files/node/addresses/ip"


def test_both_services_get_the_drop_in_where_it_is_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(ifupdown, "_PROGRAM", str(tmp_path / "ifup"))
    assert ifupdown.drop_ins() == {}

    (tmp_path / "ifup").touch()
    assert set(ifupdown.drop_ins()) == {"networking.service", "ifup@.service"}
    assert "PATH=/usr/local/lib/kup/addresses:" in ifupdown.drop_ins()["networking.service"]


@pytest.fixture
def card():
    """Run commands in a network namespace whose card `card` has an address and a default route; `ip` is what ifupdown gets."""

    def run(*commands):
        given = [
            *("ip link add card type bridge", "ip link set card up", "ip addr add 192.0.2.7/24 brd + dev card"),
            *("ip -6 addr add 2001:db8::7/64 dev card nodad", "ip route add default via 192.0.2.1 dev card"),
            f"PATH={shlex.quote(str(PROGRAM.parent))}:$PATH",
        ]
        script = "set -e; " + "; ".join([*given, *commands])
        return subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    "command",
    [
        "ip addr add 192.0.2.7/255.255.255.0 broadcast 192.0.2.255 dev card label card",
        "ip -6 addr add 2001:db8::7/64 dev card",
        "ip route add default via 192.0.2.1 dev card onlink",
        "ip -f inet a a 192.0.2.7/24 dev card",
    ],
)
def test_what_is_there_is_no_error(card, command):
    done = card(command, "ip addr show card", "ip route")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("inet 192.0.2.7/24") == done.stdout.count("default via 192.0.2.1") == 1


def test_what_is_missing_is_added(card):
    done = card(
        "ip addr add 192.0.2.8/24 dev card",
        "ip route add 198.51.100.0/24 via 192.0.2.1",
        "ip addr show card",
        "ip route",
    )

    assert done.returncode == 0, done.stderr
    assert "inet 192.0.2.8/24" in done.stdout and "198.51.100.0/24 via 192.0.2.1" in done.stdout


def test_other_commands_are_what_they_were(card):
    done = card(
        "ip link add other type bridge", "ip -o link show other", "ip rule add from 192.0.2.7 lookup 7", "ip rule"
    )

    assert done.returncode == 0, done.stderr
    assert "other" in done.stdout and "from 192.0.2.7 lookup 7" in done.stdout
    assert card("ip link add other type bridge", "ip link add other type bridge").returncode != 0


def test_words_are_passed_as_they_are(card):
    done = card("ip addr add 192.0.2.9/24 dev card label 'card:a b'", "ip addr show card")

    assert "card:a b" in done.stdout
