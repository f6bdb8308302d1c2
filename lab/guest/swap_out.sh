#!/bin/sh
# swap_out.sh UNIT MIB   on a node: have the kernel swap out so much of a unit's memory; exit code 1 if it swapped out less.
set -eu
group=/sys/fs/cgroup/system.slice/$1
[ -n "$(swapon --show --noheadings)" ]
# The write fails if the kernel reclaims a little less.
echo "$(($2 + $2 / 4))M" >"$group/memory.reclaim" || :
swapped=$(($(cat "$group/memory.swap.current") >> 20))
echo "$swapped MiB of $1 are swapped out"
[ "$swapped" -ge "$2" ]
