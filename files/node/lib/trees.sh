# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The processes of a unit, which a restore leaves stopped, and whether they go on.

# shellcheck disable=SC2154  # $plan and $run: lib/record.sh

# decide WORD: go-on or go-back, once for all units: either they run, with the kept frames too, or all stays as it is for another kernel.
# Fails if the other word was first.
decide() {
	ln -s "$1" "$run/decision" 2>/dev/null || :
	decided "$1"
}

# decided WORD: whether the decision is WORD
decided() {
	[ "$(readlink "$run/decision")" = "$1" ]
}

# signal_tree SIGNAL UNIT: signal the processes of a tree that was restored. CONT leaves out those that were stopped before the checkpoint.
signal_tree() {
	while read -r pid task_state; do
		[ "$1$task_state" = CONTstopped ] || kill "-$1" "$pid" 2>/dev/null || :
	done <"$plan/tasks-$2"
}
