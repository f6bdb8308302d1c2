# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Outcome of a failed restore where no checkpoint is left to restore: what does not run starts fresh, and the update is over.

# shellcheck disable=SC2154  # variables of lib/record.sh

# settle_trees: trees that were restored stopped go on with their frames, or start fresh like the others
settle_trees() {
	if decided go-on; then
		go_on
	elif [ -e "$plan/frames" ]; then
		decide go-back
		kill_units
		rm -f "$run"/*.restored
	fi
}

# drop_pending: only a unit that runs gets the rest of its lazy pages
drop_pending() {
	for unit in $UNITS; do
		[ -e "$run/$unit.restored" ] || drop_pages "$unit"
	done
}

# note_not_restored: all units that have not been restored have lost their state
note_not_restored() {
	for unit in $UNITS; do
		[ -e "$run/$unit.restored" ] || note_lost "$unit"
	done
}

# start_fresh REASON: end the update in phase failed, and start the units that do not run
start_fresh() {
	: >"$run/restore-done"
	settle_trees
	end_pairs
	note_not_restored
	advance failed "$1" "$DATA"
	disarm
	printf 'kup: RESTORE FAILED: units %s: %s\n' "$UNITS" "$1" >/dev/kmsg
	open_network
	forbid_nonlocal_bind
	take_back_addresses
	drop_pending
	: >"$run/rest"
	restore_hugepages
	release_frames
	# Frames that no process owns yet are more than the kernel would allow; other pages are counted already.
	{ [ -e /dev/kup_ppp ] && pages_pending; } || restore_overcommit
	keep_unit_files
	systemctl daemon-reload
	restore_resources
	keep_notifications
	notify_units
	apply_all_again
	lift_bars
	# shellcheck disable=SC2086  # several units
	start_units $UNITS
	load_diag
}
