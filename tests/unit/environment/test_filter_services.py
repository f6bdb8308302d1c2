"""Services that load the packet filter at boot, after the early boot has."""

import json
import os
import pathlib
import shutil
import subprocess

import fakefilter
import fakesystemd
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import filter_services

STATE = {"ActiveState": "active", "Type": "oneshot", "RemainAfterExit": "yes"}
COMMAND = "/usr/sbin/nft -f /etc/nftables.conf"


def drop_ins(monkeypatch, text, name="nftables.service", **state):
    known = {**STATE, **state}
    monkeypatch.setattr(
        filter_services, "show", lambda asked, *names: {key: known[key] if asked == name else "" for key in names}
    )
    monkeypatch.setattr(filter_services, "definition", lambda asked: text)
    return filter_services.drop_ins()


@pytest.mark.parametrize("name", filter_services.LOADERS)
def test_the_first_start_leaves_the_filter_as_it_is(monkeypatch, name):
    assert drop_ins(monkeypatch, f"[Service]\nExecStart={COMMAND}\n", name) == {
        name: f"[Service]\nExecStart=\nExecStart=/bin/sh -c 'rm /run/kup/{name}.filtered 2>/dev/null || exec \"$$@\"' sh {COMMAND}\n"
    }


def test_the_last_text_of_the_unit_counts(monkeypatch):
    text = f"[Service]\nExecStart=/bin/other\n#\n[Service]\nExecStart=\n  ExecStart = {COMMAND} \n"
    assert f"sh {COMMAND}\n" in drop_ins(monkeypatch, text)["nftables.service"]


@pytest.mark.parametrize("command", ["-/bin/a", "/bin/a\nExecStart=/bin/b", "/bin/a \\\n  b", "a b", ""])
def test_a_service_that_does_it_in_another_way_is_left_alone(monkeypatch, command):
    assert drop_ins(monkeypatch, f"[Service]\nExecStart={command}\n") == {}


@pytest.mark.parametrize("state", [{"ActiveState": "inactive"}, {"Type": "simple"}, {"RemainAfterExit": "no"}])
def test_so_is_one_that_has_loaded_nothing_or_stays(monkeypatch, state):
    assert drop_ins(monkeypatch, f"[Service]\nExecStart={COMMAND}\n", **state) == {}


@pytest.mark.skipif(
    not fakesystemd.namespaces() or not shutil.which("nft"), reason="needs root, systemd, nft and namespaces of its own"
)
@pytest.mark.parametrize("loaded", [True, False])
def test_with_systemd_no_rule_is_there_twice_and_none_is_lost(loaded):
    recorded, own = ["tcp dport 1 drop", "tcp dport 2 drop"], ["tcp dport 1 drop"]
    first, after_restart = json.loads(fakesystemd.run(fakefilter.__file__, str(loaded)))
    assert first == (recorded if loaded else own)
    # From then on the service does what it always does: its file has no flush.
    assert after_restart == first + own


@pytest.mark.parametrize(("state", "count"), [("active", 1), ("inactive", 0)])
def test_fail2ban_makes_its_rules_anew(monkeypatch, state, count):
    monkeypatch.setattr(
        filter_services,
        "show",
        lambda asked, *names: dict.fromkeys(names, state if asked == "fail2ban.service" else ""),
    )
    found = filter_services.drop_ins()
    assert list(found) == ["fail2ban.service"] * count
    assert all("fail2ban.service.filtered" in text and "/boot/clear-bans.sh" in text for text in found.values())


RULES = """iptables -N f2b-sshd
iptables -A f2b-sshd -j RETURN
iptables -I INPUT -p tcp -m multiport --dports ssh -j f2b-sshd
iptables -I f2b-sshd 1 -s 192.0.2.7 -j REJECT --reject-with icmp-port-unreachable
iptables -A INPUT -s 192.0.2.8 -j DROP
nft add table inet f2b-table
nft add table inet other
"""


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("iptables"), reason="needs root and iptables")
def test_what_is_of_fail2ban_goes_and_the_rest_stays():
    script = pathlib.Path(__file__).parents[3] / "files/node/boot/clear-bans.sh"
    commands = f"set -e\n{RULES}sh {script}\niptables -S\nnft list tables\n"
    said = subprocess.run(["unshare", "--net", "sh", "-c", commands], capture_output=True, text=True, check=True).stdout
    assert "f2b" not in said
    assert "-A INPUT -s 192.0.2.8/32 -j DROP" in said
    assert "table inet other" in said
