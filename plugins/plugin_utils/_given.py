# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of hosts as users give them: in the inventory, on the command line, in fields of a survey."""

from __future__ import annotations

import copy

from ansible import context
from ansible.errors import AnsibleError
from ansible.parsing.vault import EncryptedString

from ansible_collections.kup.fleet.plugins.plugin_utils import _unsafe_texts, _values

_TEMPLATE = object()


class Given:
    """What ``task`` would see on each host, with the variables of its play and the defaults of its role.

    A field of a survey that was left empty is an extra variable without a value. It would hide the value that the inventory has, so it
    counts as not given. A text that has become a number counts as the text.

    :param secret: names of variables whose values are in no message.
    """

    def __init__(self, task, templar, hostvars, secret=()):
        self._task, self._templar, self._hostvars, self._secret = task, templar, hostvars, secret
        self._manager = copy.copy(task.get_variable_manager())
        extra = self._manager.extra_vars
        empty = {name for name, value in extra.items() if _values.unset(plain(value))}
        texts = _unsafe_texts.restored(extra, _unsafe_texts.of_files(context.CLIARGS.get("extra_vars") or ()))
        #: names of variables that tasks see with another value
        self.hidden = empty | set(texts)
        self._manager._extra_vars = {name: value for name, value in {**extra, **texts}.items() if name not in empty}
        self._seen = {}

    def of_host(self, host, names, refuse):
        """Dict name → value of those of ``names`` that ``host`` has; ``refuse`` is called with the host and a sentence."""
        known = self._manager.get_vars(
            play=self._task.play,
            host=self._manager._inventory.get_host(host),
            task=self._task,
            include_hostvars=False,
        )
        known["hostvars"] = self._hostvars
        templar = self._templar.copy_with_new_env(available_variables=known)
        found = {}
        for name in names:
            if name in known:
                try:
                    found[name] = self._evaluated(known[name], templar)
                except AnsibleError as error:
                    why = "its template is wrong" if name in self._secret else " ".join(str(error).split())
                    refuse(host, f"{name} cannot be evaluated: {why.removesuffix('.')}.")
        return found

    def _evaluated(self, raw, templar):
        """``raw`` with its templates evaluated. What has none is looked at once for all hosts that share it."""
        if id(raw) not in self._seen:
            # With the object itself, so that no other gets its id.
            self._seen[id(raw)] = (raw, _TEMPLATE if templar.is_template(raw) else plain(raw))
        value = self._seen[id(raw)][1]
        return plain(templar.template(raw)) if value is _TEMPLATE else value


def plain(value):
    """``value`` without the marks that Ansible puts on it, so that an error shows 'x' and no class name."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    # A text of a vault is decrypted by str().
    if isinstance(value, (str, EncryptedString)):
        return "".join(str(value))
    return value
