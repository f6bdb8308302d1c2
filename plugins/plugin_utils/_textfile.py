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

    :raises KupError: it is no absolute path with the ending that collectors read, in a directory that there is; the sentence begins
        with ``variable``.
    """
    directory, name = os.path.split(path)
    is_good = os.path.isabs(path) and name.endswith(textfile.ENDING) and name != textfile.ENDING
    if path and not (is_good and os.path.isdir(directory)):
        raise KupError(
            f"{variable} is {path!r}, expected an absolute path that ends with {textfile.ENDING} in a directory that exists on the "
            f"controller, such as '/var/lib/prometheus/node-exporter/{variable.removesuffix('_textfile')}.prom'."
        )


def check_directory(variable, path):
    """Check the directory of the nodes' files of metrics; empty is none.

    :raises KupError: it is no absolute path; the sentence begins with ``variable``.
    """
    if path and not os.path.isabs(path):
        raise KupError(
            f"{variable} is {path!r}, expected the absolute path of a directory on the node such as '/var/lib/prometheus/node-exporter'."
        )


def write(variable, path, text):
    """Replace the file ``path`` by ``text``, see `textfile.write`.

    :raises KupError: it is not what `check` accepts, or cannot be written.
    """
    check(variable, path)
    textfile.write(os.path.dirname(path), os.path.basename(path), text, variable)
