"""Which blockers refuse a node: the role's own task, with facts as the module leaves them. Ansible itself evaluates it."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROLE = Path(__file__).resolve().parents[3] / "roles/kup_checkpoint"


def load(path):
    return yaml.safe_load((ROLE / path).read_text(encoding="utf-8"))


# Host → whether dumps are rehearsed, as users write it; YAML makes a boolean of `off` without quotes.
HOSTS = {"rehearses": "dump", "does_not": "off", "does_not_either": False}


def refused(tmp_path, code, *words):
    """Names of the hosts that are refused for a blocker with this code."""
    fit = {"blockers": [{"code": code, "sentence": "It is odd."}], "missing": [], "package": None, "needs_update": True}
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "kup_checkpoint_fit": fit}
    hosts = {name: {**common, "kup_checkpoint_rehearse": value} for name, value in HOSTS.items()}
    task = next(task for task in load("tasks/preflight.yml") if "ansible.builtin.fail" in task)
    play = {"hosts": "all", "gather_facts": False, "vars": {**load("defaults/main.yml"), **load("vars/main.yml")}}
    # A play's variables count for more than an inventory's.
    del play["vars"]["kup_checkpoint_rehearse"]
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": [task]}]))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            "-i",
            tmp_path / "hosts.yml",
            tmp_path / "play.yml",
            *words,
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "undefined" not in done.stdout + done.stderr
    return {name for name in HOSTS if f"fatal: [{name}]" in done.stdout + done.stderr}


@pytest.mark.parametrize(("words", "names"), [((), set()), (("--check",), {"rehearses"})])
def test_an_earlier_rehearsal_refuses_where_none_follows(tmp_path, words, names):
    assert refused(tmp_path, "dump-refused", *words) == names


def test_another_blocker_refuses_all(tmp_path):
    assert refused(tmp_path, "criu-check") == set(HOSTS)
