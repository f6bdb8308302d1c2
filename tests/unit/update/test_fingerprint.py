"""The fingerprint of frozen trees: what the program prints becomes a file of the boot plan."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import fingerprint


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program of this shell code."""

    def make(code):
        path = tmp_path / "fingerprint"
        path.write_text(f"#!/bin/sh\n{code}\n")
        path.chmod(0o755)
        monkeypatch.setattr(fingerprint, "PROGRAM", str(path))

    return make


def trees(**units):
    return {f"{unit}.service": [types.SimpleNamespace(pid=pid) for pid in pids] for unit, pids in units.items()}


def test_each_unit_has_a_file_for_root_only(program, tmp_path):
    program('echo "$@"')
    fingerprint.record(trees(a=[7, 8], b=[9]), str(tmp_path))
    assert (tmp_path / "fingerprint-a.service").read_text() == "record 7 8\n"
    assert (tmp_path / "fingerprint-b.service").read_text() == "record 9\n"
    assert os.stat(tmp_path / "fingerprint-a.service").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("code", "lacks"), [("exit 2", False), ("exit 126", True)])
def test_a_node_without_the_program_is_told(program, code, lacks):
    program(code)
    assert bool(fingerprint.lacking()) == lacks


@pytest.mark.parametrize(
    ("code", "said"),
    [("echo 'Descriptor 3 is odd.' >&2; exit 1", "recorded: Descriptor 3 is odd."), ("exit 2", "exit code 2")],
)
def test_a_program_that_fails_names_the_unit(program, tmp_path, code, said):
    program(code)
    with pytest.raises(
        KupError, match=rf"The fingerprint of a\.service cannot be {said if 'odd' in said else 'recorded: ' + said}"
    ):
        fingerprint.record(trees(a=[7]), str(tmp_path))


def test_a_program_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprint, "PROGRAM", str(tmp_path / "none"))
    with pytest.raises(KupError, match="install the node's programs anew"):
        fingerprint.record(trees(a=[7]), str(tmp_path))


def test_what_is_left_different(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprint, "RUN", str(tmp_path))
    assert fingerprint.differences("a.service") == []
    (tmp_path / "a.service.differences").write_text("one\ntwo\n")
    assert fingerprint.differences("a.service") == ["one", "two"]
