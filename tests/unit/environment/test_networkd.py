"""systemd-networkd in a boot whose interfaces have their addresses already."""

import json
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import networkd
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

LINKS = [
    {"Name": "lo"},
    {"Name": "ens4", "NetworkFile": "/run/systemd/network/10-netplan-ens4.network"},
    {"Name": "ens5", "NetworkFile": "/etc/systemd/network/lan.network"},
    {"Name": "ens6", "NetworkFile": "/etc/systemd/network/lan.network"},
    {"Name": "ens7", "NetworkFile": None},
]


@pytest.fixture
def said(monkeypatch):
    def says(text):
        monkeypatch.setattr(networkd, "run", lambda words, check: subprocess.CompletedProcess(words, 0, text, ""))

    return says


def planned(tmp_path):
    networkd.put_plan(Plans(str(tmp_path)))
    path = tmp_path / "2-networkd.plan"
    return path.read_bytes() if path.exists() else b""


def test_each_file_in_use_has_a_drop_in_once(said, tmp_path):
    said(json.dumps({"Interfaces": LINKS}))
    text = planned(tmp_path)
    for name in ("10-netplan-ens4", "lan"):
        assert text.count(f"/run/systemd/network/{name}.network.d/zz-kup-addresses.conf".encode()) == 1
    assert text.splitlines()[1] == b"directory optional - /run/systemd/network 755 0 0"
    assert b"KeepConfiguration=yes" in (tmp_path / "contents/1").read_bytes()


@pytest.mark.parametrize("text", ["", "Failed to connect", "{}", json.dumps({"Interfaces": LINKS[:1]})])
def test_a_node_that_has_another_network_manager_has_no_plan(said, tmp_path, text):
    said(text)
    assert planned(tmp_path) == b""


def test_a_node_without_its_tool_has_no_plan(monkeypatch, tmp_path):
    def absent(words, check):
        raise KupError(f"{words[0]} is not installed on this node.")

    monkeypatch.setattr(networkd, "run", absent)
    assert planned(tmp_path) == b""
