"""What the action sends to a node: the programs that the node lacks or has otherwise, and no other."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.action import kup_runtime
from ansible_collections.kup.fleet.plugins.module_utils._paths import PROGRAMS
from ansible_collections.kup.fleet.plugins.plugin_utils import _programs, _sent


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, path in _programs.paths(str(tmp_path / "files")).items():
        Path(path).parent.mkdir(parents=True)
        Path(path).write_bytes(name.encode())
    for folder in ("plugins/module_utils", "files/node", "files/kmod", "files/stub"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "files/stub/table.h").write_text("table\n")
    monkeypatch.setattr(kup_runtime, "_COLLECTION", tmp_path)
    return tmp_path / "files"


def arguments(**args):
    action = kup_runtime.ActionModule.__new__(kup_runtime.ActionModule)
    action._task = SimpleNamespace(args=args)
    return action.module_arguments()


def test_a_node_without_programs_gets_all(files):
    assert arguments()["programs"] == {name: _programs.pack(name.encode()) for name in PROGRAMS}


def test_a_node_gets_what_differs(files):
    first, *others = PROGRAMS
    installed = _programs.digests(str(files)) | {first: ""}
    assert arguments(installed=installed)["programs"] == {first: _programs.pack(first.encode())}
    for name in others:
        Path(_programs.paths(str(files))[name]).write_bytes(b"newer")
    assert set(arguments(installed=installed)["programs"]) == set(PROGRAMS)


def test_nothing_is_sent_to_be_removed(files):
    assert arguments(state="absent") == {"state": "absent"}


def test_the_digest_tells_apart_what_is_sent(files):
    def again():
        assert arguments()["sent"] == _sent.digest(files.parent)
        return _sent.digest(files.parent)

    seen = {again()}
    (files / "node/cli").write_text("#!/bin/sh\n")
    seen.add(again())
    (files / "node/cli").rename(files / "kmod/cli")
    seen.add(again())
    Path(_programs.paths(str(files))[PROGRAMS[0]]).write_bytes(b"newer")
    seen.add(again())
    assert len(seen) == 4
