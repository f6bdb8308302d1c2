# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts that tasks of this play have left with other hosts."""

from __future__ import annotations


def of_hosts(task, hosts, hostvars):
    """Dict host → dict of its facts and registered results, as they were when ``task`` was started.

    ``hostvars`` makes all variables of a host anew for each of them, a millisecond each: with the facts alone, a task of each of two
    thousand nodes can look at all nodes.
    """
    known = getattr(task.get_variable_manager(), "_nonpersistent_fact_cache", None)
    return {host: (known.get(host) or {} if known is not None else hostvars[host]) for host in hosts}


def taken_out(task_vars):
    """List of the rollout's hosts that Ansible has taken out of its plays, before it was divided (kup_batches) and since."""
    before = task_vars["kup_divided"]["lost"]
    here = {*task_vars["ansible_play_hosts"], *before}
    return [*before, *(host for host in task_vars["ansible_play_hosts_all"] if host not in here)]
