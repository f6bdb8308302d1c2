# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Credentials that systemd gives to services (systemd.exec(5)): it fetches them anew at each start, and a restore is one."""

from __future__ import annotations

import os
import re
import stat

_ENTRY = re.compile(
    r"^\s*(LoadCredential|LoadCredentialEncrypted|SetCredentialEncrypted)\s*=\s*([^:\s]+)(?::(\S*))?", re.MULTILINE
)
_TPM = "/dev/tpmrm0"


def late(definition):
    """Which credentials of a unit's ``definition`` may not be there early in a boot: list of (name, where it comes from)."""
    return [(name, where) for kind, name, path in _ENTRY.findall(definition) if (where := _late(kind, path))]


def _late(kind, path):
    """Where a credential comes from, if that may be too late; empty: it is not."""
    if kind.endswith("Encrypted") and os.path.exists(_TPM):
        return "the TPM, whose driver comes later"
    if not path.startswith("/"):
        return ""
    if path.startswith("/run/"):
        return f"{path}, which is in memory"
    return f"the service behind {path}" if _is_socket(path) else ""


def _is_socket(path):
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
