# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports that another machine asks for before the commit: the real playbook, with nodes of a table."""

from __future__ import annotations

import os
import socket

from tests.rollout.nodes import Rollout

UNITS = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}


class WithSudo(Rollout):
    """With a sudo on the controller that notes each call, and fails."""

    def settings(self):
        programs = self._folder / "programs"
        programs.mkdir()
        (programs / "sudo").write_text(f"#!/bin/sh\necho called >>{self._folder}/sudo-calls\nexit 1\n")
        (programs / "sudo").chmod(0o755)
        # The controller's user is root already here.
        return {**super().settings(), "PATH": f"{programs}:{os.environ['PATH']}", "ANSIBLE_BECOME_ALLOW_SAME_USER": "1"}


def test_a_port_is_asked_for_without_the_way_to_root_of_the_nodes(tmp_path):
    (tmp_path / "run").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        rollout = WithSudo(tmp_path / "run", {"node1": {}}, reached={"node1": {"ansible_host": "127.0.0.1"}})
        done = rollout.run("--become", kup_gate_remote_ports=[port], **UNITS)
    assert done.results == {"node1": "committed"}, done.said
    assert not (tmp_path / "run/sudo-calls").exists()


def test_a_machine_that_cannot_ask_is_not_the_node(tmp_path):
    (tmp_path / "run").mkdir()
    rollout = Rollout(tmp_path / "run", {"node1": {}, "balancer": {"down": True}})
    asks = {"kup_gate_remote_ports": [11211], "kup_gate_remote_from": "balancer"}
    done = rollout.run("--limit", "node1", **asks, **UNITS)
    assert done.results == {"node1": "fell_back"}
    assert done.reason("node1").startswith("balancer (kup_gate_remote_from) cannot be reached")
    assert (done.report["rollout"]["failed"], done.report["rollout"]["unreachable"]) == (["node1"], [])
