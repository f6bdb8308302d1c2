#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: test that systemd controls memcached.service; print what does not hold. Its keys are gone afterwards.
set -eu
unit=memcached.service

answers() {
	python3 -c 'import socket; socket.create_connection(("127.0.0.1", 11211), 1).close()' 2>/dev/null
}

# within SECONDS WHAT COMMAND...: wait for COMMAND to succeed
within() {
	give_up=$(($(date +%s) + $1))
	what=$2
	shift 2
	until "$@"; do
		if [ "$(date +%s)" -ge "$give_up" ]; then
			echo "$what: not so; $(systemctl show "$unit" --property=ActiveState,SubState,MainPID,Result | tr '\n' ' ')"
			exit 1
		fi
		sleep 0.2
	done
}

# is PROPERTY VALUE
is() {
	[ "$(systemctl show "$unit" --property="$1" --value)" = "$2" ]
}

# other_main PID: the unit runs with another main process
other_main() {
	is ActiveState active && ! is MainPID "$1"
}

main=$(systemctl show "$unit" --property=MainPID --value)
systemctl kill --signal=SIGKILL --kill-whom=main "$unit"
within 30 'Restart= brings it back' other_main "$main"
within 10 'restarted by systemd, it answers' answers

main=$(systemctl show "$unit" --property=MainPID --value)
systemctl restart "$unit"
within 10 'a restart gives it another process' other_main "$main"

systemctl stop "$unit"
within 10 'a stopped unit is inactive' is ActiveState inactive
if answers || [ -n "$(cat "/sys/fs/cgroup/system.slice/$unit/cgroup.procs" 2>/dev/null)" ]; then
	echo 'a stopped unit has no process: not so'
	exit 1
fi

systemctl start "$unit"
within 10 'started again, it answers' answers
