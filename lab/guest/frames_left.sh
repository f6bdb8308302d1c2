#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: what the engine ppp could leave there, and what the kernel has complained of. Says nothing if all is well.
ls /dev/kup_ppp /sys/module/kup_ppp 2>/dev/null
# Huge pages as the kernel was started: the restore switches them off.
unexpected=-o
! grep -qw transparent_hugepage=never /proc/cmdline || unexpected=-v
grep $unexpected '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled
# The lab's nodes have the kernel's own setting.
grep -v '^0$' /proc/sys/vm/overcommit_memory
dmesg >/run/kernel-log
grep -E 'WARNING|BUG|Bad page|general protection|Oops' /run/kernel-log
exit 0
