#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# fault.sh POINT SECONDS FAULT [WORD]: on a node under test, wait for a point of an update, then so many seconds, and do something to
# it. Faults that only the host can do are asked for on the console.

here=/root/faults
record=/var/lib/kup/record
timeline=/var/lib/kup/timeline
point=$1 seconds=$2 fault=$3 word=$4

# No process for each look: the node has one processor, and needs it. Nobody ever writes into this one.
exec {nobody}<> <(:)
nap() {
	read -r -t 0.05 -u "$nobody" || :
}

until_in() { # WORD FILE
	while :; do
		while read -r line; do
			case $line in *"$1"*) return ;; esac
		done 2>/dev/null <"$2"
		nap
	done
}

until_link() { # PATH
	until [ -L "$1" ]; do nap; done
}

# Only once, and before it is too late to write that down.
note() {
	rm -f $here/armed
	echo "$point $fault $word" >$here/fired
	sync $here/fired $here
}

# look_for PART: the processes whose PART (comm: name, cmdline: command line, of which $word is a part) it is, into $pids; not this one.
# No process for that either: some live no longer than one takes to start. CRIU in a unit's own mount namespace is started by the loader,
# and has the name of that, or the number of its descriptor.
look_for() {
	local process words line
	pids=
	for process in /proc/[0-9]*; do
		mapfile -d '' -t words 2>/dev/null <"$process/$1" || continue
		line="${words[*]}"
		if [[ $1:$line =~ ^comm:([0-9]+|ld-linux.*)$'\n'$ ]]; then
			mapfile -d '' -t words 2>/dev/null <"$process/cmdline" || continue
			[[ "${words[*]} " != *" --argv0 $word "* ]] || line=$word$'\n'
		fi
		case $1:$process:$line in
		*:"/proc/$$":*) ;;
		comm:*:"$word"$'\n' | cmdline:*:*"$word"*) pids="$pids ${process#/proc/}" ;;
		esac
	done
}

# strike PART: kill them, as soon as there are any. Nothing is struck if there are none.
strike() {
	local until=$((SECONDS + 30))
	# shellcheck disable=SC2086  # several words
	until kill -KILL ${pids:-none} 2>/dev/null; do
		[ $SECONDS -lt $until ] || return
		look_for "$1"
	done
	note
}

pids=
case $point in
now | early | attached) ;;
checkpointing) until_in "PHASE=checkpointing" $record ;;
freeze | dumped) until_in "$point " $timeline ;;
planned)
	# The jump is next: no time to look for anything then.
	until_in "dumped " $timeline
	[ "$fault" != kill-line ] || look_for cmdline
	until_in "$point " $timeline
	;;
restoring) until_in "restore-start " /run/kup/times ;;
pending) until_link /run/kup/open ;;
probation) until_in "PHASE='probation'" $record ;;
esac
[ "$seconds" = 0.00 ] || sleep "$seconds"
# What the application has done on probation is not in the checkpoint.
[ "$point" != probation ] || python3 /usr/local/bin/patterns mark
case $fault in
kill | kill-line) ;;
*) note ;;
esac

case $fault in
panic) echo c >/proc/sysrq-trigger ;;
hang) insmod $here/hang.ko ;;
cut)
	echo "kup-fault: cut" >/dev/ttyS0
	sleep 1000
	;;
kill) strike comm ;;
kill-line) strike cmdline ;;
full) fallocate -l "$(($(stat -f -c '%a * %S' /var/lib/kup) - 65536))" $here/ballast ;;
readonly) echo u >/proc/sysrq-trigger ;;
flip) python3 $here/flip.py "$word" ;;
clock) date --set="$word" ;;
network)
	for link in /sys/class/net/e*; do
		ip link set "${link##*/}" down
	done
	sleep "$word"
	for link in /sys/class/net/e*; do
		ip link set "${link##*/}" up
	done
	networkctl reload 2>/dev/null || :
	;;
check) : >$here/check-fails ;;
crash) systemctl kill --signal=KILL patterns.service ;;
second) KUP_OWNER=another python3 $here/node.py stage criu "$(uname -r)" 60 >$here/second 2>&1 ;;
package) dpkg --remove --force-depends "linux-image-$word" ;;
*)
	echo "fault.sh: the fault is '$fault', expected one of those above" >&2
	exit 2
	;;
esac
