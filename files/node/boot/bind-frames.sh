# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The restore of one unit whose page frames were kept (engine ppp).

# bind_frames UNIT COMMAND...: have COMMAND, criu(8), leave UNIT's tree stopped, and bind its frames to it. The tree stays stopped until
# those of all units are bound. Waiting for another unit here could be for ever: systemd may start it after this one.
bind_frames() {
	bound_unit=$1
	shift
	# early has decided so where the frames are not there.
	! decided go-back || {
		note_cause "$bound_unit" "its page frames are not there"
		exit 1
	}
	# Only after CRIU's success do the process ids belong to the tree. Otherwise systemd kills what is left in the control group.
	"$@"
	# A tree that is not to run is killed while it is stopped.
	trap 'goes_alone "$bound_unit" || decide go-back || :; signal_tree KILL "$bound_unit"' EXIT
	note_cause "$bound_unit" "its page frames could not be put in place"
	event created
	# shellcheck disable=SC2154  # $lib and $run: lib/record.sh
	"$lib/paged" bind --images-dir "$IMAGES/$ID/$CHECKPOINT-$bound_unit" >"$run/$bound_unit.bound"
	event bound
	trap - EXIT
	: >"$run/$bound_unit.cause"
}
