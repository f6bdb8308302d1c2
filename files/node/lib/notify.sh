# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What systemd knows of a unit by sd_notify(3), and by files that ended with the old boot. A restored unit has told it in that boot; the
# boot plan's file `notifications` and its folder `systemd` have it (plugins/module_utils/_update/unit_state.py).

# shellcheck disable=SC2154  # $run and $plan: lib/record.sh

# keep_unit_files: put back the files of transient units, and of drop-ins, that were in /run; the next daemon-reload reads them
keep_unit_files() {
	[ ! -d "$plan/systemd" ] || cp -R "$plan/systemd/." /run/systemd/
}

# keep_notifications: copy what notify_unit reads to where a commit does not remove it
keep_notifications() {
	cp "$plan/notifications" "$run/"
}

# tell_systemd UNIT PID WORD...: tell systemd these words of systemd-notify(1) in the name of UNIT's main process; fails if that is not PID
# any more
tell_systemd() {
	[ "$(systemctl show --property=MainPID --value -- "$1")" = "$2" ] || return
	from=$2
	shift 2
	NOTIFY_SOCKET=/run/systemd/notify systemd-notify --no-block --pid="$from" "$@"
}

# notify_unit UNIT: arm a restored unit's watchdog with the time of before the switch, and show its status text again. A daemon-reload arms
# no watchdog: systemd goes on with the time that the unit was started with. It takes this message as one of the main process. A unit that
# has been started again since has told systemd all of it itself.
notify_unit() {
	while read -r name watchdog status; do
		{ [ "$name" = "$1" ] && [ "$watchdog$status" != 0 ]; } || continue
		read -r pid <"$run/$1.pid"
		set -- "$1" "$pid" ${status:+"--status=$status"}
		[ "$watchdog" = 0 ] || set -- "$@" "WATCHDOG_USEC=$watchdog"
		tell_systemd "$@" || continue
		return
	done <"$run/notifications"
}

# notify_units: the same for all units that have their memory. For a unit with pending pages boot/pages-drained does it: until then it may
# be slow.
notify_units() {
	for unit in $UNITS; do
		is_pending "$unit" || [ ! -e "$run/$unit.restored" ] || notify_unit "$unit" || :
	done
}

# release_watchdogs: after a switch or a rehearsal that was killed, give units the watchdogs that it has extended back; they count from now
# (plugins/module_utils/_update/watchdogs.py)
release_watchdogs() {
	[ -e "$run/watchdogs" ] || return 0
	while read -r unit pid watchdog; do
		tell_systemd "$unit" "$pid" "WATCHDOG_USEC=$watchdog" || :
	done <"$run/watchdogs"
	rm -f "$run/watchdogs"
}
