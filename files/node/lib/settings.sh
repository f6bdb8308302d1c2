# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Settings of the kernel's memory management that a restore needs otherwise than the node has them.

# shellcheck disable=SC2154  # $run: lib/record.sh

# restore_hugepages: put the node's setting of transparent huge pages back
restore_hugepages() {
	[ -e "$run/hugepages" ] || return 0
	cat "$run/hugepages" >/sys/kernel/mm/transparent_hugepage/enabled
	rm "$run/hugepages"
}

# restore_overcommit: give overcommit the setting that the node had before the switch
restore_overcommit() {
	read -r value 2>/dev/null <"$run/overcommit" || return 0
	rm -f "$run/overcommit" /run/sysctl.d/zzzz-kup-restoring.conf
	echo "$value" >/proc/sys/vm/overcommit_memory || :
}
