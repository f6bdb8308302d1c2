# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Peers of restored connections that have sent again and again during the outage, and would wait up to another time as long
# (files/fingerprint/backoff/revert.h), and those that were told to wait (files/fingerprint/parking/parking.h).

# shellcheck disable=SC2154  # variables of lib/record.sh

# leave_group: leave the control group of the caller's unit, which would count what runs there, may filter its packets (IPAddressDeny=), and
# ends it with the caller. The second group is that of control groups of version 1.
leave_group() {
	for group in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/systemd/cgroup.procs; do
		[ -e "$group" ] || continue
		echo 0 >"$group" && return
	done
}

# tell_peers NAME ARGUMENT...: run the program that tells them, with what it says in $run/NAME. In the background: nothing waits for it, and
# whatever becomes of it costs no restore. It needs none of the caller's descriptors, such as locks.
tell_peers() {
	said=$run/$1
	shift
	{
		leave_group 2>/dev/null || :
		exec "$lib/fingerprint" "$@"
	} </dev/null 3<&- 4<&- 5>&- 9<&- >"$said" 2>"$said-failed" &
}

# tell_restored NAME VERB: tell the peers of restored units
tell_restored() {
	set -- "$1" "$2"
	for other in $UNITS; do
		{ [ -e "$run/$other.restored" ] && [ -e "$plan/fingerprint-$other" ]; } || continue
		set -- "$@" "$plan/fingerprint-$other"
	done
	[ $# -eq 2 ] || tell_peers "$@"
}

# unpark: have those go on that were told to wait
unpark() {
	[ "$PARK_CONNECTIONS" != True ] || tell_restored unparked unpark
}

# revert_backoff: have those send again at once who have sent in vain
revert_backoff() {
	[ "$REVERT_BACKOFF" != True ] || tell_restored backoff revert-backoff
}

# backoff_complaint: print, for the record, why peers were not told
backoff_complaint() {
	for name in backoff unparked; do
		[ ! -s "$run/$name-failed" ] || printf '; %s' "$(one_line 300 <"$run/$name-failed")"
	done
}
