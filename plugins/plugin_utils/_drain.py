# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check what a rollout is told of balancers, before any node or balancer is asked."""

from __future__ import annotations

import yaml

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _values

#: What kup_drain may name → variables that must not be empty then
BALANCERS = {
    "haproxy": ("kup_drain_haproxy_hosts",),
    "nginx": ("kup_drain_nginx_hosts", "kup_drain_nginx_files", "kup_drain_nginx_servers"),
    "keepalived": ("kup_drain_keepalived_files",),
    "consul": (),
    "kubernetes": (),
}


def described(collection):
    """Dict name → option of the role kup_drain, of those that users set."""
    path = collection / "roles/kup_drain/meta/argument_specs.yml"
    options = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    return {name: option for name, option in options.items() if name != "kup_drain_balancers"}


def check(names):
    """:raises KupError: one of ``names`` is no balancer."""
    _values.refuse_strange("kup_drain", names, BALANCERS)


def objections(names, given, options):
    """A sentence for each variable of a host that does not fit.

    :param names: its kup_drain.
    :param given: dict name → value, of what the user has set.
    :param options: what `described` returns.
    """
    needed = [(name, variable) for name in names for variable in BALANCERS.get(name, ())]
    found = [
        f"{variable} is {_values.shown(given.get(variable, []))}, expected a list of at least one element, for kup_drain has {name}."
        for name, variable in needed
        if not given.get(variable)
    ]
    return found + [sentence for name in options if (sentence := _objection(name, given.get(name), options[name]))]


def _objection(name, value, option):
    if value is None:
        return None
    if option["type"] == "list" and not isinstance(value, list):
        return f"{name} is {_values.shown(value)}, expected a list."
    try:
        values = _values.coerce(name, value, {key: option[key] for key in option if key != "choices"})
        for each in values if option["type"] == "list" else [values]:
            _values.coerce(name, each, {"choices": option.get("choices"), "type": "raw"})
    except KupError as error:
        return str(error)
    return None
