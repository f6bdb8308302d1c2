# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Weights and memory limits of control groups. A restored unit has others than its own until the restore is done; its own are in the
# boot plan's file `resources`, which plugins/module_utils/_update/boot_plan.py writes.

# shellcheck disable=SC2154  # $run and $plan: lib/record.sh

# set_weights GROUP CPU IO: share of the processor and of the disks that a control group gets while others want it, too
set_weights() {
	[ ! -w "$1/cpu.weight" ] || echo "$2" >"$1/cpu.weight" || :
	[ ! -w "$1/io.weight" ] || echo "default $3" >"$1/io.weight" || :
}

# weigh_service SERVICE WEIGHT: set both weights of one of KUP's own services
weigh_service() {
	set_weights "/sys/fs/cgroup/system.slice/$1" "$2" "$2"
}

# weigh_unit UNIT [WEIGHT]: set both weights of a restored unit to WEIGHT, or to those of before the switch. systemd does not always
# take back what was set for the restore.
weigh_unit() {
	while read -r name group cpu io _; do
		[ "$name" != "$1" ] || set_weights "$group" "${2-$cpu}" "${2-$io}"
	done <"$plan/resources"
}

# limit_unit UNIT: give a restored unit the memory limits of before the switch, once it has all of its memory. What came without being
# charged is charged by then. The limit ends no process: caches are reclaimed first, and where that is not enough the limit waits.
limit_unit() {
	while read -r name group _ _ max high; do
		{ [ "$name" = "$1" ] && [ -w "$group/memory.max" ]; } || continue
		echo "$max" >"$group/memory.high"
		read -r current <"$group/memory.current"
		if [ "$max" = max ] || [ "$current" -le "$max" ]; then
			echo "$max" >"$group/memory.max"
		else
			echo "kup: $1 uses $current bytes, more than its MemoryMax=$max; the limit holds again when the unit is restarted" >&2
		fi
		echo "$high" >"$group/memory.high"
	done <"$plan/resources"
}

# restore_resources: give all units what they had before the switch. A unit with pending pages gets its limits from boot/pages-drained.
restore_resources() {
	for unit in $UNITS; do
		weigh_service "kup-paged-$unit.service" 100
		weigh_unit "$unit" || :
		{ [ -e "$run/$unit.pending" ] && [ ! -e "$run/$unit.drained" ]; } || limit_unit "$unit" || :
	done
}
