# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Times of events: of this boot, and of the whole update.

# shellcheck disable=SC2154  # $run and $state: lib/record.sh

# event NAME: note the seconds since this kernel's start in $run/times; starts no process
event() {
	read -r uptime _ </proc/uptime
	echo "$1 $uptime" >>"$run/times"
}

# mark EVENT: append a line to the timeline of the update: event, seconds since the epoch, boot id
mark() {
	read -r boot_id </proc/sys/kernel/random/boot_id
	echo "$1 $(date +%s.%N) $boot_id" >>"$state/timeline"
}
