# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts of a survey that ansible-core has made numbers of.

AWX writes the answer 6.10 as ``!unsafe '6.10'`` into a file of extra variables. ansible-core resolves such a scalar anew from 2.19 on, as if it
had no quotes, and the answer is the number 6.1 (`construct_yaml_unsafe`). The file still has the text.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from ansible.utils.path import unfrackpath

_TAG = "!unsafe"


def of_files(words):
    """Dict name → text, of all quoted texts with the tag.

    :param words: values of ``--extra-vars``, of which those with ``@`` name files.
    """
    found = {}
    for word in words:
        path = Path(unfrackpath(word[1:]))
        # A pipe cannot be read twice.
        if word.startswith("@") and path.is_file():
            found.update(_of_text(path.read_text(encoding="utf-8")))
    return found


def _of_text(text):
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:  # ansible-core has read it, as a vault for example
        return {}
    pairs = top.value if isinstance(top, yaml.MappingNode) else []
    return {key.value: value.value for key, value in pairs if _is_unsafe_text(value)}


def _is_unsafe_text(node):
    return isinstance(node, yaml.ScalarNode) and node.tag == _TAG and node.style is not None


def restored(variables, texts):
    """Those of ``texts`` that ``variables`` has as the number, truth value or date that they are without quotes."""
    return {
        name: text
        for name, text in texts.items()
        if name in variables and not isinstance(variables[name], str) and _without_quotes(text) == variables[name]
    }


def _without_quotes(text):
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text
