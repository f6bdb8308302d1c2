# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of metrics on the controller, for a collector there."""

from __future__ import annotations

import os

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._metrics import textfile


def check(variable, path):
    """Check the path of a file of metrics on the controller; empty is none.

    :raises KupError: it is no absolute path with the ending that collectors read; the sentence begins with ``variable``.
    """
    name = os.path.basename(path)
    if path and not (os.path.isabs(path) and name.endswith(textfile.ENDING) and name != textfile.ENDING):
        raise KupError(
            f"{variable} is {path!r}, expected an absolute path on the controller that ends with {textfile.ENDING}, "
            f"such as '/var/lib/prometheus/node-exporter/{variable.removesuffix('_textfile')}.prom'."
        )


def write(variable, path, text):
    """Replace the file ``path`` by ``text``, see `textfile.write`.

    :raises KupError: it is not what `check` accepts, or cannot be written.
    """
    check(variable, path)
    textfile.write(os.path.dirname(path), os.path.basename(path), text, variable)
