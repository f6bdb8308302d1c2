#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kill_paged.sh arm KERNEL UNIT…   on a node: in a boot of a kernel of the series KERNEL, have the page daemons of units (named
#                                  without .service) killed: up to three times each, once CRIU has restored the unit and long
#                                  before its memory is there. Then /var/tmp/kills has a line for each time.
# kill-paged run UNIT…             kill them; the unit that `arm` installs runs this
set -eu

# The daemon, not the guard of its descriptors; a process for each look would take longer than the memory does.
kill_once() {
	while read -r pid; do
		if read -r name <"/proc/$pid/comm" && [ "$name" = paged ] && kill -KILL "$pid"; then return; fi
	done <"/sys/fs/cgroup/system.slice/kup-paged-$1.service/cgroup.procs"
	return 1
}

kill_often() {
	until [ -e "/run/kup/$1.service.restored" ]; do sleep 0.1; done
	for number in 1 2 3; do
		# Until systemd has started it again there is nothing to kill.
		until kill_once "$1" 2>/dev/null; do
			# All memory is there, and the daemon has ended: too late.
			[ -e "/run/kup/$1.service.pending" ] || return 0
			sleep 0.1
		done
		echo "$1 $number" >>/var/tmp/kills
		# Time for the next daemon to continue the work of the last one.
		sleep 1
	done
}

verb=$1
shift
if [ "$verb" = run ]; then
	for unit; do kill_often "$unit" & done
	wait
	for unit; do rm -r "/etc/systemd/system/kup-paged-$unit.service.d"; done
	systemctl daemon-reload
	exit
fi

kernel=$1
shift
install -m 0755 "$0" /usr/local/bin/kill-paged
for unit; do
	# Slow, so that kills hit.
	install -d "/etc/systemd/system/kup-paged-$unit.service.d"
	printf '[Service]\nCPUQuota=4%%\n' >"/etc/systemd/system/kup-paged-$unit.service.d/slow.conf"
done
# Units that are not ordered before the applications are put behind them, and the restore gets nearly all of the processor.
cat >/etc/systemd/system/kill-paged.service <<EOF
[Unit]
DefaultDependencies=no
ConditionKernelVersion=$kernel.*
ConditionPathExists=/etc/systemd/system/kup-paged-$1.service.d
Before=memcached.service $(printf '%s.service ' "$@")

[Service]
CPUWeight=10000
ExecStart=/usr/local/bin/kill-paged run $*

[Install]
WantedBy=sysinit.target
EOF
systemctl daemon-reload
systemctl enable --quiet kill-paged.service
