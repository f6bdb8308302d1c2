#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: what systemd says of memcached.service, and a line "process PID NAME" for each process it has.
set -eu
properties=ActiveState,SubState,MainPID,Type,FragmentPath,DropInPaths,NeedDaemonReload
systemctl show memcached.service --property=$properties
while read -r pid; do
	read -r name <"/proc/$pid/comm"
	echo "process $pid $name"
done </sys/fs/cgroup/system.slice/memcached.service/cgroup.procs
