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

# restore_overcommit: put the kernel's own setting of overcommit back, then apply what /etc/sysctl.d says
restore_overcommit() {
	read -r value 2>/dev/null <"$run/overcommit" || return 0
	rm -f "$run/overcommit" /run/sysctl.d/zzz-kup.conf
	echo "$value" >/proc/sys/vm/overcommit_memory || :
	/usr/lib/systemd/systemd-sysctl --prefix=/vm/overcommit_memory || :
}
