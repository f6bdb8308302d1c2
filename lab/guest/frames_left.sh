#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: print leftovers of the engine ppp and complaints of the kernel; nothing if all is well.
ls /dev/kup_ppp /sys/module/kup_ppp 2>/dev/null
# The setting of huge pages is that of the kernel's command line: the restore switches them off for a time.
unexpected=-o
! grep -qw transparent_hugepage=never /proc/cmdline || unexpected=-v
grep $unexpected '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled
# The lab's nodes have the kernel's default.
grep -v '^0$' /proc/sys/vm/overcommit_memory
dmesg >/run/kernel-log
grep -E 'WARNING|BUG|Bad page|general protection|Oops' /run/kernel-log
exit 0
