# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a killed program has left of the dumps that it was making ($dumps: the directory above those of the dumps, NUMBER-UNIT each).
# CRIU is not killed with it, because CRIU alone can let go of a frozen tree without breaking its sockets.

# shellcheck disable=SC2034,SC2154  # variables of lib/record.sh and of the caller

# nothing_to_do: whether the program ended by itself: then it has put everything right, or had changed nothing
nothing_to_do() {
	case ${SERVICE_RESULT-}:${EXIT_CODE-}:${EXIT_STATUS-} in
	success:exited:* | exit-code:exited:3) ;; # the exit code of plugins/module_utils/_update/cli.py
	*) return 1 ;;
	esac
}

# is_criu PID: by its words. In a unit's own mount namespace the program that runs CRIU is the loader.
is_criu() {
	tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -Eq '(^| )criu '
}

# undo_killed_dumps: a CRIU that was killed, too, undoes nothing. Before its tree may run, packets must pass and connections work.
# Empties $data: the unit may not have survived that.
undo_killed_dumps() {
	for images in "$dumps"/*/; do
		[ -p "$images/resume" ] || continue
		! is_criu "$(cat "$images/criu.pid")" || continue
		unit=${images%/} unit=${unit##*/}
		data=''
		"$lib/cli" undo "${unit#*-}" "$images"
	done
}

# thaw_units UNIT...: thaw their control groups
thaw_units() {
	for unit in "$@"; do
		group=/sys/fs/cgroup$(systemctl show --property=ControlGroup --value -- "$unit")
		[ ! -w "$group/cgroup.freeze" ] || echo 0 >"$group/cgroup.freeze" || :
	done
}

# release_dumps: answer CRIU's action scripts in the place of the program. A script that waits gets the answer; one that is still to come
# finds no pipe. The pause is for a script that has found the pipe and not yet opened it.
release_dumps() {
	for images in "$dumps"/*/; do
		[ -p "$images/resume" ] || continue
		for pipe in freeze resume; do
			exec 8<>"$images/$pipe"
			rm -f "$images/$pipe"
			echo go on >&8
			sleep 0.1
			exec 8>&-
		done
	done
}

# holds_unit: whether a CRIU of the service is still at work, be it a dump that lets its tree go on or a round of copying
holds_unit() {
	group=$(sed -n 's/^0:://p' /proc/self/cgroup)
	while read -r pid; do
		! is_criu "$pid" || return 0
	done <"/sys/fs/cgroup$group/cgroup.procs"
	return 1
}

# await_units: wait until all units run, for less time than systemd gives this script
await_units() {
	tries=60
	while [ $tries -gt 0 ] && holds_unit; do
		tries=$((tries - 1))
		sleep 1
	done
}
