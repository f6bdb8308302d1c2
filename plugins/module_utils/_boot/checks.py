# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what a node needs to start one kernel from another."""

from __future__ import annotations

import re

from .._blocker import check


@check
def kexec_off(setting):
    """kexec is switched off until the next boot (`kernel.kexec_load_disabled`)."""
    if setting != "0":
        yield (
            "kexec",
            "is off (sysctl kernel.kexec_load_disabled is 1 until the next boot)",
            "reboot without that setting",
        )


@check
def lockdown(modes):
    """The running kernel is locked down for confidentiality, under which CRIU cannot work."""
    if "[confidentiality]" in modes:
        yield (
            "The kernel",
            "is locked down for confidentiality, which CRIU cannot work under",
            "boot without lockdown=",
        )


@check
def kexec_missing(there):
    """The running kernel was built without kexec."""
    if not there:
        yield "The running kernel", "was built without kexec", "boot a kernel with CONFIG_KEXEC"


@check
def page_table_levels(release, knows_five, cpuinfo):
    """The machine runs with 5-level page tables, and the new kernel is built without them: it cannot be entered so."""
    if not knows_five and re.search(r"^flags\s*:.*\bla57\b", cpuinfo, re.M):
        yield (
            "This machine",
            f"runs with 5-level page tables, which kernel {release} is built without",
            "boot the running kernel with no5lvl first",
        )


@check
def boot_loader(configuration, there):
    """The boot loader is not GRUB."""
    if not there:
        yield (
            "The boot loader",
            f"is not GRUB ({configuration} and grub-set-default expected)",
            "no other is supported",
        )
