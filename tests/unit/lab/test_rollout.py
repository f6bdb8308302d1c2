"""What is done while a rollout runs, by what it says."""

import pytest

from lab import rollout as library
from lab.command import LabError
from lab.rollout import Rollout

# Says its words, then waits for the file to have each word after "wait".
PLAYBOOK = """#!/bin/sh
echo "limit $(echo "$*" | grep -c -- '-l memcache')"
for word in pause go pause abort; do
    echo "node1 waits: $word"
    [ "$word" = go ] || while ! grep -qs "not $word" FOLDER/control; do sleep 0.05; done
    rm -f FOLDER/control
done
exit 3
"""


@pytest.fixture(name="begin")
def _begin(tmp_path, monkeypatch):
    """A function that begins a rollout whose ansible-playbook is `PLAYBOOK`."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/ansible-playbook"
    program.write_text(PLAYBOOK.replace("FOLDER", str(tmp_path)))
    program.chmod(0o755)
    monkeypatch.setenv("KUP_VENV", str(tmp_path))
    return lambda **more: Rollout("lab", tmp_path / "log", {}, **more)


def test_each_command_runs_when_its_text_comes_after_the_one_before(begin, tmp_path):
    running = begin()
    control, seen = tmp_path / "control", tmp_path / "seen"
    library._react(
        running,
        [
            ("waits: pause", f"echo 1 >>{seen}; echo not pause >{control}"),
            ("waits: pause", f"echo 2 >>{seen}; echo not pause >{control}"),
            ("waits: abort", f"echo 3 >>{seen}; echo not abort >{control}"),
        ],
    )
    assert running.wait() == 3
    assert seen.read_text().split() == ["1", "2", "3"]
    assert (tmp_path / "log").read_text().splitlines() == [
        "limit 1",
        *(f"node1 waits: {word}" for word in ("pause", "go", "pause", "abort")),
    ]


def test_a_text_that_never_comes_ends_the_wait_when_the_rollout_ends(begin, tmp_path):
    running = begin(limit=None)
    # In one call: what one text has been found in is not looked through for the next.
    answers = [(f"waits: {word}", f"echo not {word} >{tmp_path}/control") for word in ("pause", "pause", "abort")]
    with pytest.raises(LabError, match="The rollout never said 'waits: nothing'"):
        library._react(running, [("limit 0", "true"), *answers, ("waits: nothing", "true")])


def test_a_command_that_fails_is_said(begin, tmp_path):
    running = begin()
    try:
        with pytest.raises(LabError, match=r"The command for 'waits: pause' ended with 4\."):
            library._react(running, [("waits: pause", "exit 4")])
    finally:
        running.kill()
