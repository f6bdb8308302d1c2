# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the shell beside it, in a boot that has an update to finish. No Python here: an interpreter takes longer to
# start than all of this. The record's format and phases are described in plugins/module_utils/_update/record.py.

# shellcheck disable=SC2034  # used by those that source this
state=/var/lib/kup
run=/run/kup
lib=/usr/local/lib/kup
# Boots that try to bring a checkpoint back: on the new kernel, on the old one, and after power cuts.
tries_max=5

# fits FILE: whether it is a record as it was written: its first line is the sum of the others
fits() {
	{ read -r sign sum && [ "$sign $(sha256sum)" = "# $sum  -" ]; } 2>/dev/null <"$1"
}

# Values of the record, each as a shell variable of the same name in capitals. No line of one that is damaged may run.
PHASE='' REASON='' DATA='' ID='' IMAGES='' KERNEL_OLD='' KERNEL_NEW='' CHECKPOINT='' DISK_CHECKPOINT='' UNITS='' PANIC='' CRASHKERNEL=''
for record in $state/record $state/record.copy; do
	if fits "$record"; then
		# shellcheck disable=SC1090
		. "$record"
		break
	fi
done
# Page frames are handed over by the command line. Without it this is a cold start: what there is, is on the disk.
[ -z "$DISK_CHECKPOINT" ] || grep -q 'kup_ppp\.table=' /proc/cmdline || CHECKPOINT=$DISK_CHECKPOINT
plan=$state/boot/$CHECKPOINT

# advance PHASE [REASON [DATA]]: replace the record, durably
advance() {
	DATA=${3-$DATA}
	lines=$(
		grep -v -e '^#' -e '^PHASE=' -e '^REASON=' -e '^DATA=' "$record"
		printf "PHASE='%s'\nREASON='%s'\nDATA='%s'\n" "$1" "$2" "$DATA"
	)
	sum=$(printf '%s\n' "$lines" | sha256sum)
	printf '# %s\n%s\n' "${sum%% *}" "$lines" >$state/record.new || return
	# Both durably: a jump forgets what has not come to the disk, and an older copy would fit.
	cp $state/record.new $state/copy.new && sync $state/record.new $state/copy.new || return
	mv $state/copy.new $state/record.copy && mv $state/record.new $state/record || return
	sync $state
	record=$state/record
	PHASE=$1
}

# event NAME: note the time since this boot's start; costs no process
event() {
	read -r uptime _ </proc/uptime
	echo "$1 $uptime" >>$run/times
}

# mark EVENT: a line of the timeline: event, seconds since the epoch, boot id
mark() {
	read -r boot_id </proc/sys/kernel/random/boot_id
	echo "$1 $(date +%s.%N) $boot_id" >>$state/timeline
}

# decide WORD: on or back, once for all units: do they run with the frames that were kept, or are
# these for another kernel? Whoever comes second learns that it was decided otherwise.
decide() {
	ln -s "$1" $run/verdict 2>/dev/null || :
	decided "$1"
}

decided() {
	[ "$(readlink $run/verdict)" = "$1" ]
}

# tasks SIGNAL UNIT: to the processes of a tree that was restored stopped; those that had been stopped before stay so (CONT)
tasks() {
	while read -r pid task_state _; do
		[ "$1$task_state" = CONTstopped ] || kill "-$1" "$pid" 2>/dev/null || :
	done <"$IMAGES/$ID/$CHECKPOINT-$2/tasks"
}

# end_units: before a reboot that restores them once more. systemd would let those go on that stand still, without their memory.
end_units() {
	for unit in $UNITS; do
		systemctl kill --signal=SIGKILL "$unit"
	done
}

# share GROUP CPU IO: how much of the processor and of the disks a control group may have, against others
share() {
	[ ! -w "$1/cpu.weight" ] || echo "$2" >"$1/cpu.weight" || :
	[ ! -w "$1/io.weight" ] || echo "default $3" >"$1/io.weight" || :
}

# weigh SERVICE WEIGHT: the same for the node's own service
weigh() {
	share "/sys/fs/cgroup/system.slice/$1" "$2" "$2"
}

# hugepages_back: put the node's setting of huge pages back
hugepages_back() {
	[ -e $run/hugepages ] || return 0
	cat $run/hugepages >/sys/kernel/mm/transparent_hugepage/enabled
	rm $run/hugepages
}

# overcommit_back: put back what the kernel has for mappings that are larger than its memory, and then what /etc/sysctl.d wants
overcommit_back() {
	read -r value 2>/dev/null <$run/overcommit || return 0
	rm -f $run/overcommit /run/sysctl.d/zzz-kup.conf
	echo "$value" >/proc/sys/vm/overcommit_memory || :
	/usr/lib/systemd/systemd-sysctl --prefix=/vm/overcommit_memory || :
}

# initial_apicid: number of the processor that this kernel was started on
initial_apicid() {
	sed -n 's/^initial apicid[[:space:]]*: //p' /proc/cpuinfo | head -n 1
}

# load_old OPTIONS IMAGE LINE [WORD...]: load the preserved kernel by kexec(8), an IMAGE and the command line LINE of its place
load_old() {
	old=$state/kernels/$KERNEL_OLD how=$1 image=$2 line=$3
	shift 3
	[ ! -e "$old/initrd" ] || how="$how --initrd=$old/initrd"
	# shellcheck disable=SC2086  # several words
	kexec $how "$old/$image" --command-line="$(cat "$old/$line")${*:+ $*}"
}

# calm_down: what is a panic during an update is none after it, nor does one land in the preserved kernel
# (plugins/module_utils/_boot/panic.py, crash_kernel.py)
calm_down() {
	if [ -n "$CRASHKERNEL" ] && [ "$(uname -r)" = "$KERNEL_NEW" ]; then
		kexec --load-panic --unload || :
		echo 0 >/sys/kernel/kexec_crash_size || :
	fi
	for setting in $PANIC; do
		echo "${setting#*=}" >"/proc/sys/kernel/${setting%%=*}" || :
	done
	if grep -q 'systemd\.watchdog_sec=300000ms' /proc/cmdline; then
		# It can be told later in the boot only. Wanting nothing: that would start sysinit.target again, and what has failed for it.
		systemd-run --quiet --no-block --collect --unit=kup-watchdog --property=DefaultDependencies=no \
			--property="After=dbus.socket dbus.service" \
			busctl set-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
			RuntimeWatchdogUSec t 0 || :
	fi
}

# try_again UNIT: count a boot that is about to bring UNIT back; fails if too many have. The disk is told at once: what ends
# the boot may be the restore. Where it cannot be written, nothing is counted.
try_again() {
	tries='' letter=o
	[ "$(uname -r)" != "$KERNEL_NEW" ] || letter=n
	if printf %s "$letter" >>"$plan/tries-$1"; then
		sync "$plan/tries-$1" &
		read -r tries <"$plan/tries-$1" || :
	fi
	[ ${#tries} -le $tries_max ] || {
		echo "kup: $tries_max boots have tried to bring $1 back, this one does not" >&2
		return 1
	}
}

# data_now: what the applications have that run now, by PHASE and what was written down on the way: running, all that they ever had
# in their memory; checkpoint, what they had at the freeze, without what they did since; or fresh, none
data_now() {
	if [ "$CHECKPOINT" = "$DISK_CHECKPOINT" ] || [ "$PHASE" = probation ]; then
		echo checkpoint
	elif [ -n "$DATA" ]; then
		echo "$DATA" # restore-failed knows, or who froze them
	elif [ "$PHASE" = returning ] || [ "$(uname -r)" = "$KERNEL_NEW" ]; then
		echo running
	elif [ ! -e "$plan/frames" ] && cat "$plan"/tries-* 2>/dev/null | grep -q n; then
		echo checkpoint # they may have run on the new kernel, for a moment
	else
		echo running
	fi
}

# weights UNIT [WEIGHT]: its control group's share of the processor and of the disks: WEIGHT, or that of before the switch. systemd does
# not always take back what was set for the restore.
weights() {
	while read -r name group cpu io _; do
		[ "$name" != "$1" ] || share "$group" "${2-$cpu}" "${2-$io}"
	done <"$plan/resources"
}

# limits UNIT: its control group has the limits of memory of before the switch; the restore had none. For who has all of its memory: the
# rest is charged as well. Nobody is ended for it: caches go first, and where that is not enough the limit waits.
limits() {
	while read -r name group _ _ max high; do
		{ [ "$name" = "$1" ] && [ -w "$group/memory.max" ]; } || continue
		echo "$max" >"$group/memory.high"
		read -r current <"$group/memory.current"
		if [ "$max" = max ] || [ "$current" -le "$max" ]; then
			echo "$max" >"$group/memory.max"
		else
			echo "kup: $1 has $current bytes, more than its MemoryMax=$max, which holds again when it is restarted" >&2
		fi
		echo "$high" >"$group/memory.high"
	done <"$plan/resources"
}

# own_resources: all units have what they had before the switch, but for a limit that waits for memory; files/node/flowed sees to that
own_resources() {
	for unit in $UNITS; do
		weigh "kup-paged-$unit.service" 100
		weights "$unit" || :
		{ [ -e "$run/$unit.flowing" ] && [ ! -e "$run/$unit.flowed" ]; } || limits "$unit" || :
	done
}

# flowing: whether memory of a restored unit is still to come
flowing() {
	for mark in "$run"/*.flowing; do
		[ ! -e "$mark" ] || return 0
	done
	return 1
}

# frames_over: once the applications run and have all of their memory, the kernel module is in nobody's way any more: its
# references on what is theirs go, and it. What they gave up before they had it, is not theirs.
frames_over() {
	{ [ -e /dev/kup_ppp ] && [ -e $run/arrived ]; } || return 0
	if flowing; then
		$lib/paged hand-over >/dev/null 2>&1 || :
		return 0
	fi
	if $lib/paged release >/dev/null 2>&1 || $lib/paged abandon >/dev/null 2>&1; then
		event released
	fi
	overcommit_back
	rmmod kup_ppp || : # or who still has the device open ends, and comes here
}

# end_of_update: on the old kernel, once nothing needs it any more, remove what the update wrote. It holds secrets, and
# nobody may come to do it.
end_of_update() {
	[ "$PHASE" = fell_back ] && ! flowing || return 0
	rm -rf "${IMAGES:?}/${ID:?}" "${state:?}/boot"
}
