"""What a node remembers of its balancers."""

import json
import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import record
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules import kup_drain_record

ONE, TWO = "haproxy lb1 cache/node1", "haproxy lb2 cache/node1"


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "STATE", str(tmp_path / "kup"))
    monkeypatch.setattr(record, "DRAINED", str(tmp_path / "kup/drained"))
    return tmp_path / "kup/drained"


def change(state, *places, left="", check_mode=False):
    return kup_drain_record.change({"state": state, "places": list(places), "left": left}, check_mode)[1]


def test_places_come_and_go(path):
    assert change("query") == record.Drained()
    assert change("present", TWO).places == (TWO,)
    assert change("present", ONE, left="failed") == record.Drained((ONE, TWO), "failed")
    assert change("query") == record.load() == record.Drained((ONE, TWO), "failed")
    assert change("absent", ONE, "nginx lb1 x").places == (TWO,)
    # Nothing is left, and nothing is remembered of why.
    assert change("absent", TWO) == record.Drained()
    assert not path.exists()


def test_it_is_for_root_only(path):
    change("present", ONE)
    assert (os.stat(path).st_mode & 0o777, os.stat(path.parent).st_mode & 0o777) == (0o600, 0o700)


def test_check_mode_writes_nothing(path):
    assert change("present", ONE, check_mode=True).places == (ONE,)
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        "{}",
        '{"places": "x", "left": ""}',
        '{"places": [1], "left": ""}',
        '{"places": [], "left": null}',
        json.dumps({"places": ["a\x1b[2J"], "left": ""}),
        json.dumps({"places": ["a\nb"], "left": ""}),
        json.dumps({"places": ["x" * 501], "left": ""}),
        json.dumps({"places": ["x" * 400] * 200, "left": ""}),
    ],
)
def test_what_is_no_record_is_refused(path, text):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(KupError, match="does not say what is drained: .*; look at the balancers and remove it"):
        record.load()
