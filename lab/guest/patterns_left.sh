#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node whose patterns.service failed a check: print the accounts of systemd, the kernel and its processes.
systemctl status --no-pager --full --lines=0 patterns.service systemd-journald.service
dmesg | tail -n 30
while read -r pid; do
	echo "process $pid"
	grep -E '^(Name|State|VmRSS|SigPnd|ShdPnd)' "/proc/$pid/status"
	cat "/proc/$pid/task/"*/stack "/proc/$pid/syscall"
	ls -l "/proc/$pid/fd"
done </sys/fs/cgroup/system.slice/patterns.service/cgroup.procs
journalctl --boot --no-pager --lines=80 --unit=patterns.service --unit=kup-paged-patterns.service --unit=systemd-journald.service
true
