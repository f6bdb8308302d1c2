"""What the role kup makes of a node. Ansible itself evaluates it, with facts as modules leave them."""

import json
import subprocess
import sys
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parents[3]

LOST = {"data": "partial", "fresh_units": ["a.service"], "stopped_by": [], "reason": "its file is gone"}
WHOLE = {"data": "running", "fresh_units": [], "stopped_by": [], "reason": ""}
PROBATION = {"state": "probation", "kernel": "7.2", "record": {**LOST, "kernel_old": "6.12"}}
BACK = {"state": "fell_back", "kernel": "6.12"}
KEPT = {"changed": True, "failed": False}

# Node → facts and results of modules, as they are after its turn.
NODES = {
    "good": {"kup_kexec_switched": {**PROBATION, "record": WHOLE}, "kup_restore_kept": KEPT},
    "went_on": {"kup_kexec_switched": PROBATION, "kup_restore_kept": KEPT},
    "went_back": {
        "__kup_failed": True,
        "kup_kexec_switched": {**BACK, "record": LOST},
        "kup_restore_returned": {**BACK, "record": LOST},
        "kup_restore_settled": {"result": "fell_back", "trouble": ""},
    },
    "back_with_all": {
        "__kup_failed": True,
        "kup_kexec_switched": {**BACK, "record": WHOLE},
        "kup_restore_returned": {**BACK, "record": WHOLE},
        "kup_restore_settled": {"result": "fell_back", "trouble": ""},
    },
    "stops": {
        "__kup_failed": True,
        "kup_kexec_switched": {**BACK, "record": {**WHOLE, "stopped_by": ["a.service"]}},
        "kup_restore_settled": {"result": "fell_back", "trouble": ""},
    },
    "no_answer": {"__kup_failed": True, "__kup_lost": True, "kup_kexec_switched": {"state": "lost", "record": None}},
    "untouched": {},
}

PLAY = """
- hosts: all
  gather_facts: false
  vars_files: [{repo}/roles/kup/vars/main/kup.yml]
  vars: {{kup_rollout: {{run_id: x}}, kup_units: [c, {{name: a.service, on_failure: stop}}, {{name: b}}]}}
  tasks:
    - ansible.builtin.set_fact: {{__kup_failed: true}}
      when: inventory_hostname == 'went_on' and __kup_row.fresh_units | length > 0
    - ansible.builtin.set_fact:
        verdict: "{{{{ {{'row': __kup_row, 'names': __kup_unit_names, 'policies': __kup_unit_policies}} }}}}"
    - ansible.builtin.copy:
        dest: {out}/verdicts
        content: "{{{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'verdict'))) | to_json }}}}"
        mode: "0600"
      run_once: true
"""


def verdicts(tmp_path, names):
    hosts = {name: {"ansible_connection": "local", **NODES[name]} for name in names}
    for host in hosts.values():
        host["ansible_python_interpreter"] = sys.executable
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    (tmp_path / "play.yml").write_text(PLAY.format(repo=REPO, out=tmp_path))
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", tmp_path / "hosts.yml", tmp_path / "play.yml"],
        check=False,
        capture_output=True,
        text=True,
        cwd=REPO,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "verdicts").read_text())


def test_what_has_become_of_each_node(tmp_path):
    found = verdicts(tmp_path, NODES)
    rows = {name: verdict["row"] for name, verdict in found.items()}
    assert {name: row["result"] for name, row in rows.items()} == {
        "good": "committed",
        "went_on": "partial",
        "went_back": "partial",
        "back_with_all": "fell_back",
        "stops": "fell_back",
        "no_answer": "lost",
        "untouched": "pending",
    }
    assert rows["went_on"]["fresh_units"] == ["a.service"]
    assert (rows["went_on"]["kernel_before"], rows["went_on"]["kernel_after"]) == ("6.12", "7.2")
    assert rows["good"]["fresh_units"] == []
    assert found["good"]["names"] == ["c", "a.service", "b"]
    assert found["good"]["policies"] == {"a.service": "stop"}
