# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hooks of a rollout that do something on the controller while it goes on."""

from __future__ import annotations

import json
import sys


def hook(folder, name, commands):
    """Path of a file for kup_hooks with a task for each of ``commands``, a dict node → shell command.

    In a command $CONTROL and $ALERTS are files in ``folder``, and $LOG has what nodes were asked for.
    """
    places = f"CONTROL={folder}/control; ALERTS={folder}/alerts; LOG={folder}/nodes/log; "
    tasks = [
        {
            "ansible.builtin.shell": places + command,
            "delegate_to": "localhost",
            "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
            "when": f"inventory_hostname == '{node}'",
        }
        for node, command in commands.items()
    ]
    path = folder / f"{name}.yml"
    path.write_text(json.dumps(tasks))
    return str(path)


def hooks(folder, commands):
    """The value of kup_hooks: ``commands`` is a dict node → dict name of a hook → shell command."""
    names = {name for of_node in commands.values() for name in of_node}
    return {
        name: hook(folder, name, {node: known[name] for node, known in commands.items() if name in known})
        for name in names
    }
