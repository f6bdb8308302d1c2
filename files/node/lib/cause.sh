# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Why a unit could not be restored: the process, CRIU's first error, and what helps.

# shellcheck disable=SC2154  # variables of lib/record.sh

# note_cause UNIT CAUSE: what the reports say of UNIT's failure instead of CRIU's error
note_cause() {
	printf '%s\n' "$2" >"$run/$1.cause"
}

# first_error LOG: print the line of CRIU's log with the error that the others follow from. An error of the tree's own processes comes
# first, then one of CRIU's main process, then what CRIU concludes.
first_error() {
	LC_ALL=C awk '
		!/Error \(/ || /cgroupd: recv req error/ || /tun: Unable to create tun/ { next }
		/FAILED/ { next }
		/ (killed|stopped) by signal / || / exited, status=/ { if (end == "") end = $0; next }
		/[0-9]: Error \(/ { own = $0; exit }
		general == "" { general = $0 }
		END { print own != "" ? own : general != "" ? general : end }' "$1" 2>/dev/null
}

# process_name PID: print the name that the process had before the switch
process_name() {
	while read -r pid name; do
		[ "$pid" != "$1" ] || printf '%s\n' "$name"
	done 2>/dev/null <"$plan/processes"
}

# describe_error LINE: print a line of CRIU's log as "process NAME (PID): MESSAGE (FILE:LINE)"
describe_error() {
	place=${1#*Error (} place=${place%%)*}
	message=${1#*Error (} message=$(printf '%s' "${message#*): }" | one_line 200)
	culprit=''
	case $1 in
	*[0-9]': Error ('*) culprit=${1%%: Error (*} culprit=${culprit##*[!0-9]} ;;
	*'): '[0-9]*' killed by signal '* | *'): '[0-9]*' stopped by signal '* | *'): '[0-9]*' exited, status='*)
		culprit=${message%%[!0-9]*}
		;;
	esac
	name=''
	[ -z "$culprit" ] || name=$(process_name "$culprit" | one_line 15)
	printf '%s' "${culprit:+process ${name:+$name (}$culprit${name:+)}: }$message ($(printf '%s' "$place" | one_line 60))"
}

# cure MESSAGE: print what helps against a well-known error, or nothing
cure() {
	case $1 in
	*'Cannot allocate memory'*) echo 'no memory was left for it: give the node, or the slice of the unit, more memory' ;;
	*bind*'No such file or directory'*)
		echo 'the directory of this socket was not there in the early boot: name it in RuntimeDirectory= of the unit'
		;;
	*bind*'Cannot assign requested address'*) echo 'no interface had this address when the unit was restored' ;;
	*'Address already in use'*) echo 'another program of this boot has taken this address: order it after the unit' ;;
	*fork*'File exists'*) echo 'another program of this boot has taken this process id' ;;
	*'bad size'* | *'bad mode'* | *'bad build-ID'* | *'Build-ID'*) echo 'this file is not what it was at the checkpoint: keep it as it is until the update is committed' ;;
	*'No such file or directory'*) echo 'this file was removed after the checkpoint, or its file system was not mounted' ;;
	*'Permission denied'* | *'Operation not permitted'*) echo 'a security policy of the node, such as AppArmor or SELinux, refused it: its log says which' ;;
	*'No space left on device'*) echo 'a file system of the node is full' ;;
	*'Too many open files'*) echo 'a limit of the node for open files is lower than before the switch: set it in /etc/sysctl.d' ;;
	esac
}

# cause_of UNIT: print, in one line, why UNIT was not restored
cause_of() {
	error=''
	[ -s "$run/$1.cause" ] || [ -s "$run/$1.lacks" ] || error=$(first_error "$IMAGES/$ID/$CHECKPOINT-$1/restore.log")
	if [ -s "$run/$1.lacks" ]; then # by the early boot
		lacks=$(one_line 600 <"$run/$1.lacks")
		printf '%s\n' "${lacks#"$1 "}"
	elif [ -s "$run/$1.cause" ]; then
		one_line 600 <"$run/$1.cause"
	elif [ -n "$error" ]; then
		told=$(describe_error "$error")
		help=$(cure "$told")
		printf '%s\n' "$told${help:+; $help}"
	elif [ "${SERVICE_RESULT-$(systemctl show --property=Result --value -- "$1")}" = timeout ]; then
		echo "the restore took longer than $RESTORE_TIMEOUT s: set kup_restore_timeout higher"
	elif [ ! -e "$run/$1.cause" ]; then # boot/restore-unit makes it
		echo "its restore was not started, because a unit that it needs has failed: 'systemctl --failed' names it"
	else
		echo "the restore ended without an error of CRIU: 'journalctl --unit=$1' says more"
	fi
}

# causes UNIT...: print the first three units with their causes, in one line
causes() {
	joined='' left=3
	for failed_unit in "$@"; do
		[ $left -gt 0 ] || break
		joined="$joined${joined:+; }$failed_unit: $(cause_of "$failed_unit" 2>/dev/null)" left=$((left - 1))
	done
	[ $# -le 3 ] || joined="$joined; and $(($# - 3)) more"
	printf '%s\n' "$joined"
}
