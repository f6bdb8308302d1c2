# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Who a module runs as on its node."""

from __future__ import annotations

import os
import pwd

from .._errors import KupError


def require():
    """Refuse to go on as anybody but root: what others cannot see would look as if it were not there.

    :raises KupError: the user is another one.
    """
    number = os.geteuid()
    if number:
        raise KupError(
            f"The tasks on this node run as the user {_name(number)}, expected root; become root (-b, or ansible_become: true "
            "in the inventory)."
        )


def _name(number):
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
