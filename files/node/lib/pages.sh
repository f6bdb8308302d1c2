# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lazy pages: memory that the page daemon brings in after the restore.

# pages_pending: whether lazy pages of any restored unit are pending
pages_pending() {
	# shellcheck disable=SC2154  # $run: lib/record.sh
	for file in "$run"/*.pending; do
		[ ! -e "$file" ] || return 0
	done
	return 1
}
