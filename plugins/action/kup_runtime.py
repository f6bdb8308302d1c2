# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction

_COLLECTION = Path(__file__).parents[2]


class ActionModule(NodeAction):
    """Sends the library and the node's shell in one go: sixty files by the copy module take a minute."""

    def module_arguments(self):
        module = _texts("files/kmod") | {"table.h": (_COLLECTION / "files/stub/table.h").read_text(encoding="utf-8")}
        texts = {"library": _texts("plugins/module_utils"), "node": _texts("files/node"), "kernel_module": module}
        return self._task.args | texts


def _texts(directory):
    """Files below a directory of this collection: dict path from there → text."""
    root = _COLLECTION / directory
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in files}
