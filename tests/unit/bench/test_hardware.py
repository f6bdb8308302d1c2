"""Updates of a real node, beside each other in one file."""

import json

import pytest

from bench import hardware


@pytest.fixture
def commit(monkeypatch):
    def be(name):
        monkeypatch.setattr(hardware.results, "commit", lambda: name)

    be("one")
    return be


def test_updates_of_one_commit_and_rate_are_added_by_size(tmp_path, commit):
    path = tmp_path / "hardware.json"
    hardware.add(path, 256, 1000.0, {"engine": "ppp"})
    hardware.add(path, 256, 1000.0, {"engine": "foam"})
    sizes = hardware.add(path, 8192, 1000.0, {"engine": "ppp"})
    assert sizes == {256: [{"engine": "ppp"}, {"engine": "foam"}], 8192: [{"engine": "ppp"}]}
    kept = json.loads(path.read_text())
    assert (kept["commit"], kept["rate"], list(kept["sizes"])) == ("one", 1000.0, ["256", "8192"])


@pytest.mark.parametrize(("name", "rate"), [("two", 1000.0), ("one", 0.0)])
def test_what_is_not_to_be_compared_begins_a_file_of_its_own(tmp_path, commit, name, rate):
    path = tmp_path / "hardware.json"
    hardware.add(path, 256, 1000.0, {"engine": "ppp"})
    commit(name)
    assert hardware.add(path, 256, rate, {"engine": "foam"}) == {256: [{"engine": "foam"}]}
    assert json.loads((tmp_path / "hardware.one.json").read_text())["sizes"] == {"256": [{"engine": "ppp"}]}


def test_nothing_measured_is_overwritten_where_the_rate_goes_back_and_forth(tmp_path, commit):
    path = tmp_path / "hardware.json"
    for rate in (1000.0, 0.0, 1000.0, 0.0):
        hardware.add(path, 256, rate, {"rate": rate})
    kept = [json.loads(found.read_text()) for found in tmp_path.iterdir()]
    assert sorted(one["sizes"]["256"][0]["rate"] for one in kept) == [0.0, 0.0, 1000.0, 1000.0]
