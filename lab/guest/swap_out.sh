#!/bin/sh
# On a node: swap_out.sh UNIT MIB: have the kernel swap out so much of a unit's memory; ends with 1 if it has not come to that.
set -eu
group=/sys/fs/cgroup/system.slice/$1
[ -n "$(swapon --show --noheadings)" ]
# The kernel says so if it was a little less.
echo "$(($2 + $2 / 4))M" >"$group/memory.reclaim" || :
swapped=$(($(cat "$group/memory.swap.current") >> 20))
echo "$swapped MiB of $1 are swapped out"
[ "$swapped" -ge "$2" ]
