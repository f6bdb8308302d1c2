# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the command line of the new kernel has more than that of the way back."""

from __future__ import annotations


def words(record, target):
    """Words for the command line of the kernel ``target``; empty: none."""
    if target != record["KERNEL_NEW"]:
        return ""
    return " ".join(filter(None, [record["CRASHKERNEL"], record["FIRST_PROCESS"]]))
