# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Texts of systemd units from the templates in files/node/units, which are installed beside the library.

A template is the unit file with ``@NAME@`` for each value that only an update knows. The lint check tests/lint/test_units.py has systemd read
all of them.
"""

from __future__ import annotations

import re

from .._errors import KupError
from .._files import read_text
from .._paths import UNIT_TEMPLATES

_PLACEHOLDER = re.compile(r"@([A-Z_]+)@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def render(name, **values):
    """Text of the template ``name`` with a value for each placeholder.

    :raises KupError: there is no such template, its placeholders are not those of ``values``, or a value would begin a new line.
    """
    path = f"{UNIT_TEMPLATES}/{name}.in"
    template = read_text(path)
    if template is None:
        raise KupError(f"The unit template {path} is missing; install the node's side of the update again.")
    expected = set(_PLACEHOLDER.findall(template))
    if expected != set(values):
        raise KupError(
            f"The unit template {path} has the placeholders {', '.join(sorted(expected)) or 'none'}, "
            f"expected {', '.join(sorted(values)) or 'none'}."
        )
    for placeholder, value in values.items():
        if _CONTROL.search(str(value)):
            raise KupError(f"{placeholder} of the unit template {path} is {value!r}, expected no control characters.")
    return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), template) + "\n"
