# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Configuration in /run that keeps services of the boot from undoing what travelled, for as long as they are still to come."""

from __future__ import annotations

import contextlib
import os

from .._system.units import show
from . import filter_services, ifupdown, networkd, sysctls, tmpfiles

_READERS = {sysctls.KEPT: "systemd-sysctl.service", tmpfiles.KEPT: "systemd-tmpfiles-setup.service"}
_READERS |= {
    f"/run/systemd/system/{name}.d/{services.DROP_IN}": reader
    for services in (filter_services, ifupdown)
    for name, reader in services.READERS.items()
}


def removable():
    """Paths of what nothing in this boot reads any more; what a service has not read yet stays until the next boot."""
    readers = _READERS | dict.fromkeys(networkd.drop_ins(), networkd.SERVICE)
    there = [path for path in readers if os.path.exists(path)]
    return [path for path in there if show(readers[path], "ActiveState")["ActiveState"] in ("active", "failed")]


def remove():
    """After the update the node's own configuration alone counts."""
    for path in removable():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
