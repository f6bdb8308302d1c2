# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Accounts that the node knows without the network or a daemon (passwd(5), group(5)): systemd needs a unit's to start it, also early."""

from __future__ import annotations

from .._files import read_lines

# systemd knows these itself.
_KNOWN = {"root", "nobody", "nogroup", "0", "65534"}


def absent(names, path):
    """Those of these names or ids that the file at ``path`` does not have."""
    rows = [line.split(":") for line in read_lines(path)]
    known = _KNOWN.union(*(row[:1] + row[2:3] for row in rows))
    return [name for name in names if name and name not in known]
