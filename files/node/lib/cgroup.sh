# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Weights and limits of control groups. A restored unit has others than its own until the restore is done; its own are in the boot plan's
# files `resources` and `control-groups`, which plugins/module_utils/_update/unit_state.py writes. favour_pending, restore_resources and
# apply_all_again need pages.sh.

# shellcheck disable=SC2154  # $run and $plan: lib/record.sh

# set_weights GROUP CPU IO: share of the processor and of the disks that a control group gets while others want it, too
set_weights() {
	[ ! -w "$1/cpu.weight" ] || echo "$2" >"$1/cpu.weight" || :
	[ ! -w "$1/io.weight" ] || echo "default $3" >"$1/io.weight" || :
}

# weigh_service SERVICE WEIGHT: set both weights of one of KUP's own services, by its whole name; its control group is in system.slice
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

# Weight of a unit whose pages are still to come, and of its page daemon: beside the rest of the boot both would have less than a tenth of one
# processor. Others still come to their turns.
favour=1000

# favour_pending: weigh the units whose pages are still to come; boot/pages-drained takes that back. systemd sets the weights of a unit's own text at
# each reload.
favour_pending() {
	for unit in $UNITS; do
		is_pending "$unit" || continue
		weigh_service "kup-paged-$unit" $favour
		weigh_unit "$unit" $favour || :
		# It may have come to that meanwhile.
		is_pending "$unit" || weigh_unit "$unit" || :
	done
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
			: >"$run/$1.unlimited"
			echo "kup: $1 uses $current bytes, more than its MemoryMax=$max; the limit holds again when the unit is restarted" >&2
		fi
		echo "$high" >"$group/memory.high"
	done <"$plan/resources"
}

# restore_attributes: write the other attributes of before the switch, where they differ
restore_attributes() {
	while read -r file value; do
		[ -w "$file" ] || continue
		now=''
		read -r now <"$file" || :
		[ "$now" = "$value" ] || echo "$value" >"$file" || echo "kup: $file is '$now', expected '$value'; set it by hand" >&2
	done <"$plan/control-groups"
}

# keep_names: note in $run whose settings systemd applies again: when it has the units' own texts, the plan may be gone
keep_names() {
	cp "$plan/apply-again" "$run/"
}

# apply_again UNIT: have systemd put in force again what is no plain attribute: device policy, limits of single disks, filters of bind(2).
# It does that for all settings of a unit when one of them is set; the setting itself, which no unit needs after a boot, is removed again.
# For a unit that is over its memory limit it would set that as well.
apply_again() {
	while read -r name; do
		file=/run/systemd/system.control/$1.d/50-StartupIOWeight.conf
		if [ "$name" != "$1" ] || [ -e "$run/$1.unlimited" ] || [ -e "$file" ]; then
			continue
		fi
		systemctl set-property --runtime "$1" StartupIOWeight= || :
		rm -f "$file"
		rmdir "${file%/*}" 2>/dev/null || :
		applied=yes
	done <"$run/apply-again"
}

# apply_all_again: the same for all units that have their memory
apply_all_again() {
	applied=''
	for unit in $UNITS; do
		[ -e "$run/$unit.restored" ] || continue
		is_pending "$unit" || apply_again "$unit" || :
	done
	[ -n "$applied" ] || return 0
	systemctl daemon-reload # forgets the setting
	favour_pending
}

# restore_resources: give all units what they had before the switch. A unit with pending pages gets its limits and weights from
# boot/pages-drained.
restore_resources() {
	restore_attributes || :
	keep_names || :
	for unit in $UNITS; do
		is_pending "$unit" || {
			weigh_unit "$unit" || :
			limit_unit "$unit" || :
		}
	done
	favour_pending
}
