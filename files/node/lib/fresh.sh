# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Units that start fresh while the others keep their state. Each unit of a boot that restores is settled in the end: restored, or marked as
# one that starts fresh. Needs record.sh and cause.sh.

# shellcheck disable=SC2034,SC2154  # variables of lib/record.sh

# start_fresh_because UNIT REASON: UNIT loses its state, because REASON; the other units keep theirs. The caller ends with an error, so that
# systemd calls boot/restore-failed, which does the rest; UNIT is started when all others are restored.
start_fresh_because() {
	note_cause "$1" "$2"
	rm -f "$run/$1.restored"
	: >"$run/$1.fresh"
}

# settled UNIT: whether this boot is done with the unit's state
settled() {
	[ -e "$run/$1.restored" ] || [ -e "$run/$1.fresh" ]
}

# all_settled: whether no unit is missing any more
all_settled() {
	for other in $UNITS; do
		settled "$other" || return 1
	done
}

# any_restored: whether a unit has its state
any_restored() {
	for other in $UNITS; do
		[ ! -e "$run/$other.restored" ] || return 0
	done
	return 1
}

# lost_units: print the units that start fresh in this boot
lost_units() {
	for other in $UNITS; do
		[ ! -e "$run/$other.fresh" ] || printf '%s ' "$other"
	done
}

# goes_alone UNIT: whether the others go on without the state of UNIT: on the new kernel where kup_on_unit_failure says so, on the old one
# always, because there is no other way back
goes_alone() {
	goes_forward || return 0
	case " $ON_FAILURE " in
	*" $1=continue "*) return 0 ;;
	esac
	return 1
}

# add_units LIST UNIT...: print LIST with those UNITs that are not in it
add_units() {
	list=$1
	shift
	for added in "$@"; do
		case " $list " in
		*" $added "*) ;;
		*) list="$list${list:+ }$added" ;;
		esac
	done
	printf '%s\n' "$list"
}

# note_lost UNIT...: add units to $FAILED_UNITS and $FRESH_UNITS, and set $DATA to what that means
note_lost() {
	[ $# -gt 0 ] || return 0
	FAILED_UNITS=$(add_units "$FAILED_UNITS" "$@")
	FRESH_UNITS=$(add_units "$FRESH_UNITS" "$@")
	DATA=fresh
	for other in $UNITS; do
		case " $FRESH_UNITS " in
		*" $other "*) ;;
		*) DATA=partial ;;
		esac
	done
}

# forget_objects UNIT: remove the System V objects that this boot has made for a unit which is not restored: a fresh start expects none
forget_objects() {
	[ -e "$run/$1.restored" ] || [ ! -e "$plan/ipc-$1" ] || "$lib/environment" forget "$plan/ipc-$1" || :
}

# start_units UNIT...: start units afresh, by their own text. systemd does not know one any more that it has not even tried to restore.
start_units() {
	for other in "$@"; do
		forget_objects "$other"
		systemctl reset-failed "$other" || :
		systemctl --no-block start "$other" || :
	done
}
