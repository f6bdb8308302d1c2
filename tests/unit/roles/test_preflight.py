"""Which blockers refuse a node: the role's own task, with facts as the module leaves them. Ansible itself evaluates it."""

import subprocess
import sys
from pathlib import Path

import atonce
import pytest
import yaml

ROLE = Path(__file__).resolve().parents[3] / "roles/kup_checkpoint"


# Host → whether dumps are rehearsed, as users write it; YAML makes a boolean of `off` without quotes.
HOSTS = {"rehearses": "dump", "does_not": "off", "does_not_either": False}
CODES = ("dump-refused", "criu-check")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Words of the command line → what it says of each host with a blocker of each code."""

    def run(words):
        folder = tmp_path_factory.mktemp("run")
        role = {"name": str(ROLE), "tasks_from": "judged", "rolespec_validate": False}
        play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": role}]}
        hosts = {f"{name}.{code}": host(code, HOSTS[name]) for name in HOSTS for code in CODES}
        (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        (folder / "play.yml").write_text(yaml.safe_dump([play]))
        program = Path(sys.executable).with_name("ansible-playbook")
        command = [program, "-i", folder / "hosts.yml", folder / "play.yml", *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert "undefined" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    return atonce.each(run, ((), ("--check",)))


def host(code, rehearse):
    fit = {
        "blockers": [{"code": code, "sentence": "It is odd."}],
        "notes": [],
        "missing": [],
        "package": None,
        "needs_update": True,
    }
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "kup_checkpoint_fit": fit}
    return {**common, "kup_checkpoint_rehearse": rehearse}


def refused(said, code):
    """Names of the hosts that are refused for a blocker with this code."""
    return {name for name in HOSTS if f"fatal: [{name}.{code}]" in said}


@pytest.mark.parametrize(("words", "names"), [((), set()), (("--check",), {"rehearses"})])
def test_an_earlier_rehearsal_refuses_where_none_follows(runs, words, names):
    assert refused(runs[words], "dump-refused") == names


def test_another_blocker_refuses_all(runs):
    assert refused(runs[()], "criu-check") == set(HOSTS)
