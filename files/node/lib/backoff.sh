# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Peers that have sent again and again during the outage, and would wait up to another time as long (files/fingerprint/backoff/revert.h).

# shellcheck disable=SC2154  # variables of lib/record.sh

# leave_group: leave the control group of the caller's unit, which would count what runs there, may filter its packets (IPAddressDeny=), and
# ends it with the caller. The second group is that of control groups of version 1.
leave_group() {
	for group in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/systemd/cgroup.procs; do
		[ -e "$group" ] || continue
		echo 0 >"$group" && return
	done
}

# revert_backoff: have the peers of restored units send again at once. In the background: nothing waits for it, and whatever becomes of it
# costs no restore. It needs none of the caller's descriptors, such as locks.
revert_backoff() {
	[ "$REVERT_BACKOFF" = True ] || return 0
	set --
	for other in $UNITS; do
		{ [ -e "$run/$other.restored" ] && [ -e "$plan/fingerprint-$other" ]; } || continue
		set -- "$@" "$plan/fingerprint-$other"
	done
	[ $# -gt 0 ] || return 0
	{
		leave_group 2>/dev/null || :
		exec "$lib/fingerprint" revert-backoff "$@"
	} </dev/null 3<&- 4<&- 5>&- 9<&- >"$run/backoff" 2>"$run/backoff-failed" &
}

# backoff_complaint: print, for the record, why peers were not told
backoff_complaint() {
	[ -s "$run/backoff-failed" ] || return 0
	printf '; %s' "$(one_line 300 <"$run/backoff-failed")"
}
