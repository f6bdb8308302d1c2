"""Whose lock CRIU's connections have while they are dumped."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import command, connection_lock, examination

FINDINGS = examination.Findings(lock=connection_lock.NONE)
PROGRAM = types.SimpleNamespace(words=["criu"], options=[], hook="/hook")


@pytest.fixture
def nft(monkeypatch):
    """The texts that nft was asked about; ``code`` is its answer."""
    asked = types.SimpleNamespace(texts=[], code=0)

    def run(words, stdin, check):
        assert words == ["nft", "--check", "-f", "-"]
        assert not check
        asked.texts.append(stdin)
        return types.SimpleNamespace(returncode=asked.code)

    monkeypatch.setattr(connection_lock, "run", run)
    monkeypatch.setattr(connection_lock.shutil, "which", lambda name: f"/usr/sbin/{name}")
    connection_lock._holds.cache_clear()
    yield asked
    connection_lock._holds.cache_clear()


def test_criu_does_without_a_lock_where_control_groups_can_be_held(nft):
    assert connection_lock.method("4.2.1", "/system.slice/a.service") == connection_lock.NONE
    assert connection_lock.method("", "/system.slice/b.service") == connection_lock.NONE
    # One process for all units of a slice.
    assert len(nft.texts) == 1
    assert 'socket cgroupv2 level 1 "system.slice" drop' in nft.texts[0]


@pytest.mark.parametrize(("criu", "code"), [("3.17.1", 0), ("4.1.1", 1)])
def test_criu_has_its_own_lock_where_it_or_the_kernel_is_too_old(nft, criu, code):
    nft.code = code
    assert connection_lock.method(criu, "/system.slice/a.service") == connection_lock.OWN


def test_a_node_without_nft_is_judged_once_it_has_it(nft, monkeypatch):
    monkeypatch.setattr(connection_lock.shutil, "which", lambda name: None)
    assert connection_lock.method("4.2.1", "/system.slice/a.service") == connection_lock.NONE
    assert nft.texts == []


def test_criu_is_told():
    words = command.dump_command(7, "/images", FINDINGS, PROGRAM)
    assert words[words.index("--network-lock") + 1] == "skip"
