# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Configuration in /run that keeps services of the boot from undoing what travelled, for as long as they are still to come."""

from __future__ import annotations

import contextlib
import os

from .._system.units import show
from . import sysctls, tmpfiles

_READERS = {sysctls.KEPT: "systemd-sysctl.service", tmpfiles.KEPT: "systemd-tmpfiles-setup.service"}


def remove():
    """After the update the node's own configuration alone counts; what a service of this boot has not read yet stays until the next."""
    for path, reader in _READERS.items():
        if show(reader, "ActiveState")["ActiveState"] in ("active", "failed"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
