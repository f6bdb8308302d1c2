"""CRIU's complaints: the cause of a failure."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import command as criu_command


def test_the_first_error_of_criu_is_the_cause(tmp_path):
    (tmp_path / "dump.log").write_text("fine\nError (a.c:1): the cause\nError (b.c:2): a consequence\n")
    assert criu_command.complaint(str(tmp_path), "dump", 1) == "Error (a.c:1): the cause"


@pytest.mark.parametrize(("blocks", "says"), [(0, "no room is left"), (9, "exit code 1")])
def test_a_criu_that_could_not_even_write_its_log(monkeypatch, tmp_path, blocks, says):
    monkeypatch.setattr(os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=blocks))
    assert says in criu_command.complaint(str(tmp_path), "dump", 1)
