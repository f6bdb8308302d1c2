"""The role kup_drain with all balancers at once: real HAProxy and nginx, stand-ins for Consul and Kubernetes, and keepalived's file.

The node is this machine, with a /var/lib of its own. The balancers are asked from the controller itself.
"""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import atonce
import pytest
import yaml

from tests.balancers import consul, haproxy, kubernetes, nginx

REPO = Path(__file__).resolve().parents[3]
BALANCERS = ["haproxy", "nginx", "keepalived", "consul", "kubernetes"]


@dataclass(frozen=True)
class Seen:
    """How a run ended: its ``code``, the balancers at which the node is ``drained`` then, what the node has on ``record``, the output."""

    code: int
    drained: list
    record: dict
    said: str


class Fleet:
    """A node, and what balances it."""

    def __init__(self, folder, lb, web, agent, cluster):
        self.folder, self.lb, self.web, self.agent, self.cluster = folder, lb, web, agent, cluster
        self.file = folder / "keepalived"
        self.file.write_text("0\n")
        for name in ("library", "kubectl"):
            (folder / name).mkdir()

    def variables(self):
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            # The node's own; that of the command line does not work.
            "ansible_become": False,
            "kup_drain_balancers": BALANCERS,
            "kup_drain_haproxy_hosts": ["localhost"],
            "kup_drain_haproxy_socket": self.lb.socket,
            "kup_drain_nginx_hosts": ["localhost"],
            "kup_drain_nginx_files": [str(self.web.servers)],
            "kup_drain_nginx_servers": [self.web.first],
            "kup_drain_nginx_command": self.web.command,
            "kup_drain_keepalived_files": [str(self.file)],
            "kup_drain_consul_address": consul.address(self.agent),
            "kup_drain_consul_token": "secret",
            "kup_drain_kubernetes_command": kubernetes.command(
                self.cluster, self.folder / "kubectl", kubernetes.PROGRAMS[0]
            ),
        }

    def run(self, entry, *words, **variables):
        """The role's ``entry`` point, with tasks of the command line's own become, which cannot work."""
        tasks = [{"ansible.builtin.include_role": {"name": "kup.fleet.kup_drain", "tasks_from": entry}}]
        (self.folder / "play.yml").write_text(
            yaml.safe_dump([{"hosts": "node1", "gather_facts": False, "tasks": tasks}])
        )
        hosts = {"node1": {**self.variables(), **variables}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        program = Path(sys.executable).with_name("ansible-playbook")
        play = [program, "-v", "--become", "-i", self.folder / "hosts.yml", self.folder / "play.yml", *words]
        inside = f'mount --bind {self.folder}/library /var/lib && exec "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", inside, "sh", *play],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=REPO,
            env={
                **os.environ,
                "ANSIBLE_BECOME_EXE": "/nowhere/sudo",
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_PIPELINING": "1",
            },
            timeout=300,
        )
        assert "secret" not in done.stdout
        return Seen(done.returncode, self.drained(), self.record(), done.stdout)

    def record(self):
        path = self.folder / "library/kup/drained"
        return json.loads(path.read_text()) if path.exists() else None

    def drained(self):
        """Names of the balancers at which the node is drained."""
        states = {
            "haproxy": self.lb.states()["cache/node1"] == "drained",
            "nginx": "down;" in self.web.servers.read_text(),
            "keepalived": self.file.read_text() == "1\n",
            "consul": "_node_maintenance" in self.agent.checks,
            "kubernetes": "unschedulable" in self.cluster.node["spec"],
        }
        return [name for name in BALANCERS if states[name]]


@contextlib.contextmanager
def fleet(folder):
    (folder / "nginx").mkdir()
    with (
        haproxy.started(folder) as lb,
        nginx.started(folder / "nginx") as web,
        consul.started() as agent,
        kubernetes.started() as cluster,
    ):
        yield Fleet(folder, lb, web, agent, cluster)


def names(fleet):
    return sorted(
        [
            "consul node1 node",
            "haproxy localhost cache/node1",
            "haproxy localhost other/node1",
            f"keepalived node1 {fleet.file}",
            "kubernetes localhost node1",
            f"nginx localhost {fleet.web.servers}:{fleet.web.first}",
        ]
    )


def drain_and_put_back(one):
    return [
        one.run("drain", "--check"),
        one.run("drain"),
        one.run("finish", kup_drain_result="failed"),
        one.run("finish", kup_drain_result="committed"),
    ]


def fail_at_one(one):
    return [
        one.run("drain"),
        one.run("undrain", kup_drain_haproxy_socket="/nowhere/admin.sock"),
        one.run("undrain"),
    ]


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """Dict story → (names of all places of its fleet, what was `Seen` of each run)."""

    def tell(story):
        with fleet(tmp_path_factory.mktemp("drain")) as one:
            return names(one), story(one)

    return atonce.each(tell, (drain_and_put_back, fail_at_one))


def test_a_node_is_drained_and_put_back_at_all_balancers(stories):
    places, (checked, drained, failed, committed) = stories[drain_and_put_back]
    assert (checked.code, checked.drained, checked.record) == (0, [], None), checked.said
    assert (drained.code, drained.drained) == (0, BALANCERS), drained.said
    assert drained.record == {"places": places, "left": ""}
    assert (failed.code, failed.drained) == (0, BALANCERS), failed.said
    assert failed.record == {"places": places, "left": "failed"}
    assert (committed.code, committed.drained, committed.record) == (0, [], None), committed.said


def test_one_balancer_that_fails_does_not_keep_the_others_from_putting_it_back(stories):
    places, (drained, failed, undrained) = stories[fail_at_one]
    assert drained.code == 0
    assert (failed.code, failed.drained) == (2, ["haproxy"]), failed.said
    # All of them are asked again.
    assert failed.record["places"] == places
    assert (undrained.code, undrained.drained, undrained.record) == (0, [], None), undrained.said
