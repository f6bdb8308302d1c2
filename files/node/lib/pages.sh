# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lazy pages: memory that the page daemon brings in after the restore.

# shellcheck disable=SC2154  # $run: lib/record.sh

# is_pending UNIT: whether pages of the unit are still to come
is_pending() {
	[ -e "$run/$1.pending" ] && [ ! -e "$run/$1.drained" ]
}

# pages_pending: whether lazy pages of any restored unit are pending
pages_pending() {
	for file in "$run"/*.pending; do
		[ ! -e "$file" ] || return 0
	done
	return 1
}

# drop_pages UNIT: bring in no memory of UNIT any more; its page daemon may wait for a restore that does not come. Without the file systemd
# does not start it again.
drop_pages() {
	rm -f "$run/$1.pending"
	systemctl kill --signal=SIGKILL "kup-paged-$1" 2>/dev/null || :
}
