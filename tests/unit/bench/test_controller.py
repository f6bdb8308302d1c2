"""The bench of the controller goes on with what is missing, and only there."""

import json
import types

import pytest

from bench import controller

ARGS = types.SimpleNamespace(ssh=20, hosts="10,100", forks=20)
EVERYTHING = [("over_ssh", 20, False), ("over_ssh", 20, True), ("runs", 10, None), ("runs", 100, None)]


@pytest.fixture
def commit(monkeypatch):
    """The commit that is measured."""
    found = types.SimpleNamespace(name="abc")
    monkeypatch.setattr(controller.results, "commit", lambda: found.name)
    return found


def write(path, found):
    found["over_ssh"].append({"hosts": 20, "forks": 20, "ssh": False})
    found["runs"].append({"hosts": 10, "forks": 20})
    path.write_text(json.dumps(found))


def test_a_first_start_measures_everything(commit, tmp_path):
    assert list(controller.missing(ARGS, controller.begun(tmp_path / "found"))) == EVERYTHING


def test_what_was_measured_of_this_commit_is_not_measured_again(commit, tmp_path):
    write(tmp_path / "found", controller.begun(tmp_path / "found"))
    found = controller.begun(tmp_path / "found")
    assert list(controller.missing(ARGS, found)) == [EVERYTHING[1], EVERYTHING[3]]
    other = types.SimpleNamespace(**{**vars(ARGS), "forks": 5, "ssh": 0})
    assert list(controller.missing(other, found)) == EVERYTHING[2:]


@pytest.mark.parametrize(("before", "after"), [("abc", "abd"), ("abc-dirty", "abc-dirty")])
def test_another_commit_is_measured_anew(commit, tmp_path, before, after):
    commit.name = before
    write(tmp_path / "found", controller.begun(tmp_path / "found"))
    commit.name = after
    assert list(controller.missing(ARGS, controller.begun(tmp_path / "found"))) == EVERYTHING
