# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nodes get of the collection: the texts, and the programs beside them (`_programs`)."""

from __future__ import annotations

import hashlib
import json

from ansible_collections.kup.fleet.plugins.plugin_utils import _programs


def texts(collection):
    """The texts as the module kup_runtime takes them: dict argument → dict path → text.

    :param collection: `Path` of the collection's folder.
    """
    module = _below(collection / "files/kmod")
    module["table.h"] = (collection / "files/stub/table.h").read_text(encoding="utf-8")
    return {
        "library": _below(collection / "plugins/module_utils"),
        "node": _below(collection / "files/node"),
        "kernel_module": module,
    }


def digest(collection, found=None):
    """SHA-256 of the texts and the programs, in hexadecimal.

    :param collection: as above.
    :param found: its `texts`, where they have been read already.
    """
    everything = [found or texts(collection), _programs.digests(str(collection / "files"))]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode("ascii")).hexdigest()


def _below(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}
