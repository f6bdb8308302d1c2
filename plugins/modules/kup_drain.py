#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_drain
short_description: Let a balancer send no new traffic to a node, and send it again
version_added: 0.1.0
description:
  - Runs where the balancer can be asked. A balancer has one or more places for a node, such as a server of a backend.
  - Touches no place but those in O(places), and none that somebody else has taken out of service.
options:
  host:
    description: Name of the machine where this runs. It is a part of the names of places.
    type: str
    required: true
  state:
    description:
      - V(drained) drains the places, V(serving) puts them back into service.
      - V(looked) changes nothing, and returns all places of the node.
    type: str
    choices:
      - looked
      - drained
      - serving
    default: looked
  places:
    description: Names of places, each as C(BALANCER HOST PLACE). Those of other balancers and hosts are left out.
    type: list
    elements: str
    default: []
  wait:
    description: With O(state=drained), the seconds that open sessions get to end, where the balancer tells of them. V(0) is not to wait.
    type: int
    default: 0
  on_timeout:
    description: Whether sessions that are open then fail the task.
    type: str
    choices:
      - continue
      - fail
    default: continue
  haproxy:
    description: HAProxy, by its admin socket.
    type: dict
    suboptions:
      socket:
        description: The socket, with the level admin.
        type: path
        required: true
      servers:
        description: The node's servers, each as C(BACKEND/SERVER). Without any, the servers named O(haproxy.server) in all backends.
        type: list
        elements: str
        default: []
      server:
        description: The node's name as a server.
        type: str
        required: true
  nginx:
    description: nginx, by files that its configuration includes.
    type: dict
    suboptions:
      files:
        description: The files, with one C(server ADDRESS;) on a line.
        type: list
        elements: path
        required: true
      servers:
        description: The addresses of the node, as in the files. Their lines get C(down).
        type: list
        elements: str
        required: true
      command:
        description: How nginx is called, for its test of the configuration and its reload.
        type: list
        elements: str
        default: [nginx]
  keepalived:
    description: keepalived, by the files of its C(track_file).
    type: dict
    suboptions:
      files:
        description: The files. They have the number 0 where nothing is drained.
        type: list
        elements: path
        required: true
      value:
        description: The number that drains.
        type: int
        default: 1
      addresses:
        description: Addresses that must have left the machine within 15 seconds.
        type: list
        elements: str
        default: []
  consul:
    description: Consul, by the interface of the machine's agent.
    type: dict
    suboptions:
      address:
        description: Where the agent listens.
        type: str
        default: http://127.0.0.1:8500
      services:
        description: Ids of services. Without any, the node with all of its services.
        type: list
        elements: str
        default: []
      token:
        description: A token for it.
        type: str
        default: ""
  kubernetes:
    description: Kubernetes, by kubectl.
    type: dict
    suboptions:
      node:
        description: The node's name in the cluster.
        type: str
        required: true
      command:
        description: How kubectl is called.
        type: list
        elements: str
        default: [kubectl]
      options:
        description: Options of C(kubectl drain).
        type: list
        elements: str
        default: [--ignore-daemonsets]
      timeout:
        description: Seconds for it. V(0) is only to cordon the node.
        type: int
        default: 300
attributes:
  check_mode:
    details: The balancer is only asked for its state.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Send no new connections to a server of HAProxy
  kup.fleet.kup_drain:
    host: lb1
    state: drained
    places:
      - haproxy lb1 cache/node1
    haproxy:
      socket: /run/haproxy/admin.sock
      server: node1
  delegate_to: lb1
"""

RETURN = r"""
places:
  description:
    - By name, the state of each place afterwards, V(serving), V(drained), or V(out) if somebody else has taken it out of service.
    - With O(state=looked) all places of the node, else those of O(places).
  type: dict
  returned: success
  sample:
    haproxy lb1 cache/node1: drained
notes:
  description: What is worth knowing, a sentence each, such as sessions that are still open.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._drain.consul import Consul
from ansible_collections.kup.fleet.plugins.module_utils._drain.haproxy import HAProxy
from ansible_collections.kup.fleet.plugins.module_utils._drain.keepalived import Keepalived
from ansible_collections.kup.fleet.plugins.module_utils._drain.kubernetes import Kubernetes
from ansible_collections.kup.fleet.plugins.module_utils._drain.nginx import Nginx
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

#: balancer → (its options, how it is made of them)
BALANCERS = {
    "haproxy": (
        {
            "socket": {"type": "path", "required": True},
            "servers": {"type": "list", "elements": "str", "default": []},
            "server": {"type": "str", "required": True},
        },
        lambda given: HAProxy(given["socket"], given["servers"], given["server"]),
    ),
    "nginx": (
        {
            "files": {"type": "list", "elements": "path", "required": True},
            "servers": {"type": "list", "elements": "str", "required": True},
            "command": {"type": "list", "elements": "str", "default": ["nginx"]},
        },
        lambda given: Nginx(given["files"], given["servers"], given["command"]),
    ),
    "keepalived": (
        {
            "files": {"type": "list", "elements": "path", "required": True},
            "value": {"type": "int", "default": 1},
            "addresses": {"type": "list", "elements": "str", "default": []},
        },
        lambda given: Keepalived(given["files"], given["value"], given["addresses"]),
    ),
    "consul": (
        {
            "address": {"type": "str", "default": "http://127.0.0.1:8500"},
            "services": {"type": "list", "elements": "str", "default": []},
            "token": {"type": "str", "default": "", "no_log": True},
        },
        lambda given: Consul(given["address"], given["services"], given["token"]),
    ),
    "kubernetes": (
        {
            "node": {"type": "str", "required": True},
            "command": {"type": "list", "elements": "str", "default": ["kubectl"]},
            "options": {"type": "list", "elements": "str", "default": ["--ignore-daemonsets"]},
            "timeout": {"type": "int", "default": 300},
        },
        lambda given: Kubernetes(given["node"], given["command"], given["options"], given["timeout"]),
    ),
}


def ask(wanted, check_mode):
    kind = next(name for name in BALANCERS if wanted[name])
    visit = Visit(BALANCERS[kind][1](wanted[kind]), kind, wanted["host"], wanted["places"])
    if wanted["state"] == "drained":
        return visit.drain(wanted["wait"], wanted["on_timeout"] == "continue", check_mode)
    return visit.undrain(check_mode) if wanted["state"] == "serving" else visit.look()


def main():
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["looked", "drained", "serving"], "default": "looked"},
            "places": {"type": "list", "elements": "str", "default": []},
            "wait": {"type": "int", "default": 0},
            "on_timeout": {"type": "str", "choices": ["continue", "fail"], "default": "continue"},
            **{name: {"type": "dict", "options": options} for name, (options, _make) in BALANCERS.items()},
        },
        required_one_of=[tuple(BALANCERS)],
        mutually_exclusive=[tuple(BALANCERS)],
        supports_check_mode=True,
    )
    try:
        answer = ask(module.params, module.check_mode)
    except (KupError, OSError) as error:
        module.fail_json(msg=f"{module.params['host']}: {error}")
    module.exit_json(changed=answer.changed, places=answer.places, notes=answer.notes)


if __name__ == "__main__":
    main()
