# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Actions that work on the controller alone."""

from __future__ import annotations

from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.action import ActionBase

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

_SPECIFIED = ("type", "elements", "required", "default", "choices")


class ControllerAction(ActionBase):
    """Validates its arguments against the documentation of its module, the one place where they are declared."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    #: ``DOCUMENTATION`` of the module of the same name
    documentation = ""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # Once for all nodes: Ansible loads an action before it forks for each of its tasks.
        cls._specification = specification(cls.documentation)

    def run(self, tmp=None, task_vars=None):
        del tmp
        result = super().run(None, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=self._specification)
        try:
            result.update(self.work(arguments, task_vars))
        except KupError as error:
            result.update(failed=True, msg=str(error))
        return result

    def work(self, arguments, task_vars):
        """The result's keys.

        :raises KupError: the task fails with this sentence.
        """
        raise NotImplementedError


def specification(documentation):
    """The argument specification of a module with the text ``documentation``."""
    return _specify(yaml_load(documentation).get("options", {}))


def _specify(options):
    found = {}
    for name, option in options.items():
        found[name] = {key: option[key] for key in _SPECIFIED if key in option}
        if "suboptions" in option:
            found[name]["options"] = _specify(option["suboptions"])
    return found
