# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The processes of a unit, which a restore leaves stopped.

# shellcheck disable=SC2154  # $plan: lib/record.sh

# signal_tree SIGNAL UNIT: signal the processes of a tree that was restored. CONT leaves out those that were stopped before the checkpoint.
signal_tree() {
	while read -r pid task_state; do
		[ "$1$task_state" = CONTstopped ] || kill "-$1" "$pid" 2>/dev/null || :
	done <"$plan/tasks-$2"
}
