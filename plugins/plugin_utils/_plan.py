# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check a rollout on the controller, before any node is touched."""

from __future__ import annotations

import re

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.module_utils._engines import registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import units as systemd_units
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

#: variable → the least whole number that it can be
_NUMBERS = {
    "kup_freeze_max": 0,
    "kup_rounds_max": 0,
    "kup_max_failed": 0,
    "kup_watch_interval": 0,
    "kup_restore_timeout": 1,
    "kup_switch_timeout": 1,
    "kup_commit_timeout": 1,
}


def examine(hosts, connections, variables):
    """Check a whole rollout.

    :param hosts: names of the nodes, in order.
    :param connections: dict host → name of its connection plugin.
    :param variables: dict variable → value as the user wrote it.
    :returns: the batches: list of lists of names.
    :raises KupError: the first value that is wrong.
    """
    if not hosts:
        raise KupError("There is no node to update; name a group of the inventory, or correct the limit (-l).")
    local = sorted(host for host in hosts if connections.get(host) in ("local", "ansible.builtin.local"))
    if local:
        raise KupError(
            f"{local[0]} has the connection 'local', expected one that leads to another machine such as 'ssh': "
            "a controller cannot watch its own switch."
        )
    _kernel(variables.get("kup_kernel"))
    check_policies({"kup_units": None, **variables})
    registry.check(variables.get("kup_engine", registry.AUTO))
    _seconds("kup_freeze_target", variables.get("kup_freeze_target", 0))
    _seconds("kup_rehearse_max", variables.get("kup_rehearse_max", 1), above_zero=True)
    for name, least in _NUMBERS.items():
        if name in variables:
            number(name, variables[name], least)
    return batches(hosts, variables.get("kup_batches"))


def _kernel(selector):
    # A series is easily written without quotes, and is then a number: 6.10 would be 6.1.
    if not isinstance(selector, str) or not selector:
        raise KupError(f"kup_kernel is {selector!r}, expected a text such as '7.2' (with quotes) or a whole release.")
    kernels.check_selector(selector)


def check_policies(variables, where=""):
    """Check which services are updated, and what follows where one cannot be restored.

    :param variables: dict variable → value; those that are missing have their default.
    :param where: begins the sentence, e.g. "node1: ".
    :raises KupError: the first value that is wrong.
    """
    if "kup_units" in variables:
        _list_of_units(variables["kup_units"], where)
    if "kup_on_unit_failure" in variables:
        records.check_policy(f"{where}kup_on_unit_failure", variables["kup_on_unit_failure"])


def _list_of_units(units, where):
    if not isinstance(units, list) or not units:
        raise KupError(
            f"{where}kup_units is {units!r}, expected a list of at least one service such as ['memcached.service']."
        )
    names = [systemd_units.full_name(_unit_name(unit, where)) for unit in units]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise KupError(f"{where}kup_units names {twice[0]} more than once, expected each service once.")


def _unit_name(unit, where):
    """The name in an element of kup_units, which is that name, or a dict with ``name`` and ``on_failure``."""
    name = unit.get("name") if isinstance(unit, dict) else unit
    if not isinstance(name, str) or not name.strip():
        raise KupError(
            f"{where}kup_units has the element {unit!r}, expected the name of a service, or a dictionary with it as 'name'."
        )
    if isinstance(unit, dict):
        strange = sorted(set(unit) - {"name", "on_failure"}, key=str)
        if strange:
            raise KupError(
                f"{where}kup_units has for {name} the key {strange[0]!r}, expected 'name' and 'on_failure' only."
            )
        if "on_failure" in unit:
            records.check_policy(f"{where}on_failure of {name} in kup_units", unit["on_failure"])
    return name


def number(name, value, least):
    """``value`` as a whole number of at least ``least``; text of digits (``--extra-vars``) is one too.

    :raises KupError: it is none; the sentence begins with ``name``.
    """
    if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or int(value) < least:
        raise KupError(f"{name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def _seconds(name, value, above_zero=False):
    good = not isinstance(value, bool) and re.fullmatch(r"\d+(\.\d+)?", str(value))
    if not good or (above_zero and not float(value)):
        raise KupError(f"{name} is {value!r}, expected a number of seconds{' above 0' * above_zero} such as 0.3.")


def batches(hosts, sizes):
    """Divide ``hosts`` as Ansible's ``serial`` does with the same list: the last size counts until all are covered.

    :param sizes: list of whole numbers and of percentages of all hosts, such as ``"25%"``.
    :raises KupError: a size is neither, or a batch would be empty.
    """
    if not isinstance(sizes, list) or not sizes:
        raise KupError(
            f"kup_batches is {sizes!r}, which never covers the fleet; expected a list such as [1, '25%', '100%']."
        )
    counts = [_count(size, len(hosts)) for size in sizes]
    left, found = list(hosts), []
    while left:
        count = counts[min(len(found), len(counts) - 1)]
        found.append(left[:count])
        left = left[count:]
    return found


def _count(size, total):
    share = re.fullmatch(r"(\d+)%", str(size))
    if share and 1 <= int(share.group(1)) <= 100:
        return max(total * int(share.group(1)) // 100, 1)
    if not isinstance(size, bool) and re.fullmatch(r"\d+", str(size)) and int(size) > 0:
        return int(size)
    raise KupError(
        f"kup_batches has the element {size!r}, with which it never covers the fleet; "
        "expected whole numbers from 1 or percentages from '1%' to '100%'."
    )
