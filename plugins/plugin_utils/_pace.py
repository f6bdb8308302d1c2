# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of Ansible that nobody has made, and with which a rollout of many nodes is slow."""

from __future__ import annotations

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.loader import connection_loader

#: Variables of a node that say whether it has pipelining: somebody has decided that.
CHOICES = ("ansible_pipelining", "ansible_ssh_pipelining")
_PER_FORK = 5  # nodes
_FEW = 20  # nodes for which pipelining saves little


def objections(forks, nodes, undecided):
    """A sentence for each setting that should be another.

    :param forks: how many nodes Ansible works on at once.
    :param nodes: number of nodes of the rollout.
    :param undecided: the name of its connection for each node that has none of `CHOICES`.
    """
    return [*_of_forks(forks, nodes), *(_of_pipelining(undecided) if len(undecided) > _FEW else [])]


def _of_forks(forks, nodes):
    default, origin = constants.config.get_config_value_and_origin("DEFAULT_FORKS")
    if origin != "default" or forks != default or nodes <= _PER_FORK * forks:
        return []
    return [
        f"The rollout has {nodes} nodes, and Ansible works on {forks} at once, its default; set forks in [defaults] of ansible.cfg, ANSIBLE_FORKS "
        "or --forks to as many as the controller can bear, such as 50."
    ]


def _of_pipelining(undecided):
    without = sum(map(undecided.count, (name for name in set(undecided) if not _pipelines(name))))
    if without <= _FEW:
        return []
    return [
        f"Pipelining is off for {without} nodes, so that Ansible copies each module to a file before it runs it; set pipelining = True in [defaults] "
        "of ansible.cfg, or ANSIBLE_PIPELINING=1, and ansible_pipelining: false for nodes that cannot have it."
    ]


def _pipelines(connection):
    """Whether it is on for this connection, or the connection knows no such thing."""
    try:
        # Its options are known when it is loaded.
        name = connection_loader.get(connection, class_only=True)._load_name
        return constants.config.get_config_value("pipelining", plugin_type="connection", plugin_name=name)
    except (AnsibleError, AttributeError):
        return True
