# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Page frames that stay in place while the kernel is replaced (engine ppp).

# shellcheck disable=SC2034,SC2154  # $WINDOW is for those that source this; $run, $state, $plan and $running: lib/record.sh

# frame_table: set $TABLE, where the kept frames are, and $WINDOW, where a kernel can be loaded beside them. Read and not sourced: no
# line of a damaged file may be executed.
frame_table() {
	TABLE='' WINDOW=''
	while IFS='=' read -r name value; do
		value=${value#\'} value=${value%\'}
		case $name in
		TABLE) TABLE=$value ;;
		WINDOW) WINDOW=$value ;;
		esac
	done <"$plan/frames"
}

# attach_frames: put the kernel module in charge of the frames that this kernel was told of
attach_frames() {
	frame_table
	[ -e /dev/kup_ppp ] || insmod "$state/kernels/$running/kup_ppp.ko" "table=$TABLE"
}
