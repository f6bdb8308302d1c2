# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check a rollout on the controller, before any node is touched."""

from __future__ import annotations

import math
import os
import re

import yaml
from ansible.inventory.manager import split_host_pattern

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.module_utils._engines import registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import units as systemd_units
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.plugin_utils import (
    _alerts,
    _budget,
    _control,
    _domains,
    _drain,
    _extras,
    _judge_metrics,
    _lock_place,
    _maintenance,
    _notify,
    _prometheus,
    _textfile,
    _values,
)

#: variable → the least whole number that it can be
_NUMBERS = {
    "kup_freeze_max": 0,
    "kup_rounds_max": 0,
    "kup_watch_interval": 0,
    "kup_soak": 0,
    "kup_window_cutoff": 0,
    "kup_window_patience": 0,
    "kup_alerts_patience": 0,
    "kup_judge_interval": 1,
    "kup_hook_lease": 1,
    "kup_lock_ttl": 1,
    "kup_restore_timeout": 1,
    "kup_switch_timeout": 1,
    "kup_commit_timeout": 1,
}
#: What is decided once for the rollout, and cannot differ from host to host.
ROLLOUT = (
    "kup_batches",
    "kup_batch_success",
    "kup_max_failed",
    "kup_max_unreachable",
    "kup_soak",
    "kup_soak_node_hours",
    "kup_judge",
    "kup_judge_prometheus",
    "kup_judge_interval",
    "kup_domain_parallel",
    "kup_domain_order",
    "kup_window",
    "kup_window_zone",
    "kup_window_cutoff",
    "kup_window_patience",
    "kup_control",
    "kup_alerts",
    "kup_alerts_ignore",
    "kup_alerts_match",
    "kup_alerts_patience",
    "kup_lock",
    "kup_lock_ttl",
    "kup_stopped_fails",
    "kup_report_dir",
    "kup_status_textfile",
    "kup_rollout_textfile",
    "kup_notify",
)
#: Of these, what decides whether the rollout goes on after each node.
_LIMITS = ("max_failed", "max_unreachable", "batch_success", "domain_parallel", "domain_order")
_SOAKS = ("soak", "soak_node_hours")
#: Their values are in no sentence.
SECRET = ("kup_notify",)
#: Their values are in no output: a command or an URI may have a password.
HIDDEN = {"kup_gate_commands", "kup_gate_uris", "kup_gate_numbers"}
#: What an element of kup_units may say of a service.
_UNIT_KEYS = ("name", "on_failure", "lease_s")
_MOST = 10  # sentences in one message
#: They have no default that means anything. On the way back they are not needed: a node knows what it has restored.
REQUIRED = ("kup_kernel", "kup_units")


def described(collection):
    """Variables of the playbooks of ``collection`` (its `Path`): (dict name → option of the specification, dict name → default)."""
    role = collection / "roles/kup"
    options = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text(encoding="utf-8"))
    return options["argument_specs"]["main"]["options"], defaults


class Variables:
    """Checks the variables of the hosts of a rollout, one host after the other, and remembers what is wrong."""

    def __init__(self, options, defaults):
        self._options = options
        self._defaults = defaults
        self._wrong = {}  # sentence → hosts
        self._rollout = {}  # name → (value, host) of the first host
        self._domains = {}  # host → kup_domain
        self._instances = {}  # host → kup_judge_instance, or its name
        self._extras = set()
        #: The smallest kup_switch_timeout.
        self.least_timeout = math.inf
        # Hosts of a group share one object: it is looked at once.
        self._seen = {}

    def add(self, host, given, hidden=()):
        """Check one host.

        :param given: dict name → value as the user wrote it.
        :param hidden: names of variables that tasks see with another value than ``given`` has, such as that of an empty field.
        :returns: dict name → value, of texts and empty values that stand for something else.
        """
        meant, checked = {}, {}
        for name in self._options:
            value = given.get(name)
            result, sentence = self._look(name, value)
            if sentence:
                self.refuse(host, sentence)
                continue
            checked[name] = result
            if name in ROLLOUT:
                self._compare(host, name, result)
            # Anything else is as good as its type: modules convert it by themselves.
            is_text = value is None or isinstance(value, str)
            if name not in SECRET and (name in hidden or (is_text and result != value)):
                meant[name] = result
        if _is_narrowed(checked):
            meant["kup_kernel"] = checked["kup_kernel_release"]
        self._domains[host] = checked.get("kup_domain", "")
        self._extras |= _extras.of_node(checked)
        self.least_timeout = min(self.least_timeout, checked.get("kup_switch_timeout", math.inf))
        for sentence in filter(
            None, (_short_lived(checked), _judge_metrics.objection(checked), self._unnamed(host, checked))
        ):
            self.refuse(host, sentence)
        return meant

    def _unnamed(self, host, checked):
        """Why kup_judge cannot ask for the host: a sentence, or empty."""
        self._instances[host] = checked.get("kup_judge_instance") or host
        try:
            if checked.get("kup_judge"):
                _judge_metrics.check_instance(self._instances[host])
        except KupError as error:
            return str(error)
        return ""

    def add_drain(self, host, given, options):
        """Check one host for its balancers, see `_drain.objections`; `add` says what is wrong with kup_drain itself."""
        names, sentence = self._look("kup_drain", given.get("kup_drain"))
        for each in [] if sentence else _drain.objections(names, given, options):
            self.refuse(host, each)

    def refuse(self, host, sentence):
        self._wrong.setdefault(sentence, []).append(host)

    def check(self):
        """:raises KupError: something is wrong; each sentence begins with the host that it is about."""
        # A host is not said to be without a domain whose domain is wrong.
        wrong = {
            host for sentence, hosts in self._wrong.items() if sentence.startswith("kup_domain ") for host in hosts
        }
        names = {host: name for host, name in self._domains.items() if host not in wrong}
        for host, sentence in _domains.of_hosts(names)[1].items():
            self.refuse(host, sentence)
        if self._wrong:
            sentences = [f"{_hosts(hosts)}: {sentence}" for sentence, hosts in self._wrong.items()]
            more = len(sentences) - _MOST
            raise KupError(
                " ".join([*sentences[:_MOST], *([f"There are {more} more such sentences."] if more > 0 else [])])
            )

    def of_rollout(self, name):
        """The value of a variable in `ROLLOUT`, after `check`."""
        return self._rollout[name][0]

    def limits(self, way):
        """Dict of what kup_budget compares the rollout with, after `check`.

        :param way: "update", or "back": then there is no soak.
        """
        found = {name: self.of_rollout(f"kup_{name}") for name in _LIMITS}
        soaks = {name: self.of_rollout(f"kup_{name}") if way == "update" else 0 for name in _SOAKS}
        return {**found, **soaks, "way": way}

    def extras(self):
        """Sorted list of what at least one host has, see `_extras.of_node`."""
        return sorted(self._extras)

    def domains(self):
        """Dict host → its domain, empty where there are none, after `check`."""
        return _domains.of_hosts(self._domains)[0]

    def instances(self):
        """Dict host → what stands for it in the queries of kup_judge."""
        return dict(self._instances)

    def _look(self, name, value):
        """(value as its type, None), or (None, what is wrong: a sentence)."""
        key = (name, id(value))
        if key not in self._seen:
            try:
                result = (self._checked(name, value), None)
            except KupError as error:
                result = (None, str(error))
            # With the value itself, so that no other object gets its id.
            self._seen[key] = (value, result)
        return self._seen[key][1]

    def _checked(self, name, value):
        if _values.unset(value) and name not in REQUIRED:
            value = self._defaults[name]
        # A field of a survey keeps the end of its last line.
        value = value.strip() if isinstance(value, str) else value
        check = _CHECKS.get(name)
        if name not in _OWN_TYPE:
            value = _values.coerce(name, value, self._options[name])
        if name in _NUMBERS:
            number(name, value, _NUMBERS[name])
        if check:
            check(value)
        return value

    def _compare(self, host, name, value):
        first, other = self._rollout.setdefault(name, (value, host))
        if value != first and name in SECRET:
            self.refuse(host, f"{name} is another one than on {other}; expected one value for the whole rollout.")
        elif value != first:
            self.refuse(
                host,
                f"{name} is {_values.shown(value)}, and {_values.shown(first)} on {other}; expected one value for the whole rollout, as a variable of all.",
            )


def _is_narrowed(values):
    """Whether kup_kernel_release is one of those that kup_kernel means."""
    selector, release = values.get("kup_kernel"), values.get("kup_kernel_release")
    return bool(selector and release) and kernels.matches(selector, release)


def shared(meant):
    """What hosts have in common said once.

    :param meant: dict host → dict name → value.
    :returns: dict ``meant``: name → value of all hosts, ``host_meant``: host → dict of its own; and Ansible's word for a result that is not
        shown, where one of `HIDDEN` is in it.
    """
    hosts = list(meant.values())
    common = {
        name: value
        for name, value in (hosts[0] if hosts else {}).items()
        if all(name in host and host[name] == value for host in hosts)
    }
    own = {
        host: {name: value for name, value in values.items() if name not in common} for host, values in meant.items()
    }
    result = {"meant": common, "host_meant": {host: values for host, values in own.items() if values}}
    is_hidden = any(HIDDEN.intersection(host) for host in hosts)
    return {**result, "_ansible_no_log": True} if is_hidden else result


def _hosts(hosts):
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def check_hosts(hosts, connections):
    """Check which nodes there are, and how they are reached.

    :param hosts: names of the nodes, in order.
    :param connections: dict host → name of its connection plugin.
    :raises KupError: there is none, one is the controller, or one has a name that a play cannot name.
    """
    if not hosts:
        raise KupError("There is no node to update; name a group of the inventory, or correct the limit (-l).")
    patterns = [host for host in hosts if _is_pattern(host)]
    if patterns:
        raise KupError(
            f"{patterns[0]!r} is the name of a host and would be read as a pattern of names, expected letters, digits, '.', '-' and '_'; "
            "give it another name in the inventory, and its address as ansible_host."
        )
    local = sorted(host for host in hosts if connections.get(host) in ("local", "ansible.builtin.local"))
    if local:
        raise KupError(
            f"{local[0]} has the connection 'local', expected one that leads to another machine such as 'ssh': "
            "a controller cannot watch its own switch."
        )


def _is_pattern(name):
    """Whether Ansible would find other hosts, or none, by the name of a host: https://docs.ansible.com (patterns)."""
    return split_host_pattern(name) != [name] or name[0] in "!&~" or any(character in name for character in "*?[ \t")


def check_kernel(selector):
    """Check kup_kernel as it was given.

    :raises KupError: it is no text that can mean a kernel.
    """
    # A series is easily written without quotes, and YAML has made 6.1 of 6.10 then.
    if isinstance(selector, (int, float)) and not isinstance(selector, bool):
        raise KupError(
            f'kup_kernel is {selector!r}, expected a text; quote it, as in kup_kernel: "6.10", which is the number 6.1 without quotes.'
        )
    if not isinstance(selector, str) or not selector:
        raise KupError(
            f"kup_kernel is {_values.shown(selector)}, expected a text such as '7.2' (with quotes) or a whole release."
        )
    kernels.check_selector(selector)


def _list_of_units(units):
    if not isinstance(units, list) or not units:
        raise KupError(
            f"kup_units is {_values.shown(units)}, expected a list of at least one service such as ['memcached.service']."
        )
    names = [systemd_units.full_name(_unit_name(unit)) for unit in units]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise KupError(f"kup_units names {twice[0]} more than once, expected each service once.")


def _unit_name(unit):
    """The name in an element of kup_units, which is that name, or a dict with it as ``name`` and with what is said of it."""
    name = unit.get("name") if isinstance(unit, dict) else unit
    if not isinstance(name, str) or not name.strip():
        raise KupError(
            f"kup_units has the element {_values.shown(unit)}, expected the name of a service, or a dictionary with it as 'name'."
        )
    if isinstance(unit, dict):
        strange = sorted(set(unit) - set(_UNIT_KEYS), key=str)
        if strange:
            raise KupError(f"kup_units has for {name} the key {strange[0]!r}, expected one of {', '.join(_UNIT_KEYS)}.")
        if "on_failure" in unit:
            records.check_policy(f"on_failure of {name} in kup_units", unit["on_failure"])
        if "lease_s" in unit:
            _lease(name, unit["lease_s"])
    return name


def _lease(name, seconds):
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise KupError(
            f"lease_s of {name} in kup_units is {_values.shown(seconds)}, expected a number of seconds above 0 such as 30."
        )


def _hooks(hooks):
    for phase, path in hooks.items():
        if not isinstance(path, str) or not os.path.isabs(path) or not os.path.isfile(path):
            raise KupError(
                f"kup_hooks.{phase} is {path!r}, expected the absolute path of a file with tasks on the controller."
            )


def _short_lived(values):
    """What is wrong with the lock's time to live: a sentence, or empty. A node that is away renews no lock."""
    longest = values.get("kup_switch_timeout", 0) + values.get("kup_commit_timeout", 0)
    if not values.get("kup_lock") or values.get("kup_lock_ttl", longest + 1) > longest:
        return ""
    return (
        f"kup_lock_ttl is {values['kup_lock_ttl']} s, expected more than kup_switch_timeout and kup_commit_timeout together ({longest} s), "
        "the longest that a node may take."
    )


def _positive(name):
    def check(value):
        if not value > 0:
            raise KupError(f"{name} is {value!r}, expected a number of seconds above 0 such as 0.3.")

    return check


def number(name, value, least):
    """``value`` as a whole number of at least ``least``; text of digits (``--extra-vars``) is one too.

    :raises KupError: it is none; the sentence begins with ``name``.
    """
    if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or int(value) < least:
        raise KupError(f"{name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


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


#: variable → what else must hold of its value
_CHECKS = {
    "kup_kernel": check_kernel,
    "kup_kernel_release": lambda text: kernels.check_selector(text, "kup_kernel_release") if text else None,
    "kup_units": _list_of_units,
    "kup_engine": registry.check,
    "kup_rehearse_max": _positive("kup_rehearse_max"),
    "kup_batches": lambda sizes: batches(["any"], sizes),
    "kup_batch_success": lambda value: _budget.share("kup_batch_success", value, 1),
    "kup_max_failed": lambda value: _budget.share("kup_max_failed", value, 0),
    "kup_max_unreachable": lambda value: _budget.share("kup_max_unreachable", value, 0),
    "kup_domain": _domains.check,
    "kup_domain_parallel": lambda value: _budget.share("kup_domain_parallel", value, 1),
    "kup_window": _maintenance.parse,
    "kup_window_zone": _maintenance.zone,
    "kup_control": _control.check,
    "kup_alerts": _alerts.check,
    "kup_alerts_ignore": _alerts.check_ignore,
    "kup_alerts_match": _alerts.check_match,
    "kup_judge": _judge_metrics.parse,
    "kup_judge_prometheus": lambda place: _prometheus.check("kup_judge_prometheus", place) if place else None,
    "kup_judge_instance": _judge_metrics.check_instance,
    "kup_lock": _lock_place.check,
    "kup_status_textfile": lambda path: _textfile.check("kup_status_textfile", path),
    "kup_rollout_textfile": lambda path: _textfile.check("kup_rollout_textfile", path),
    "kup_textfile_dir": lambda path: _textfile.check_directory("kup_textfile_dir", path),
    "kup_notify": _notify.parse,
    "kup_hooks": _hooks,
    "kup_drain": _drain.check,
}
#: Their checks see the value as it was given, and say more than its type.
_OWN_TYPE = ("kup_kernel", "kup_domain", "kup_notify")
