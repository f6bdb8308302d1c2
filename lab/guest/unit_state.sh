#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: print systemd's properties of memcached.service, a line "process PID NAME" for each of its processes, and the weights of
# its control group, if there are any.
set -eu
group=/sys/fs/cgroup/system.slice/memcached.service
properties=ActiveState,SubState,MainPID,Type,FragmentPath,DropInPaths,NeedDaemonReload
systemctl show memcached.service --property=$properties
while read -r pid; do
	read -r name <"/proc/$pid/comm"
	echo "process $pid $name"
done <$group/cgroup.procs
for weight in cpu.weight io.weight; do
	[ ! -e $group/$weight ] || echo "$weight $(cat $group/$weight)"
done
