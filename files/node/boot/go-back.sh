# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Outcome of a failed restore on the new kernel: the preserved kernel restores the same checkpoint.

# shellcheck disable=SC2154  # variables of lib/record.sh and lib/frames.sh

# data_left: print which memory the checkpoint gives the applications back: all that they ever had, unless they have run meanwhile. None does
# before all are whole (let-go.sh).
data_left() {
	if [ ! -e "$plan/frames" ] && decided go-on; then
		echo checkpoint
	else
		echo running
	fi
}

# rearm_frames: have the module keep the frames for one more kernel; fails without the module's word that they are whole
rearm_frames() {
	[ -e "$plan/frames" ] || return
	attach_frames # kup-early may have failed before it came to this
	"$lib/paged" rearm
}

# load_unpacked: load the preserved kernel as it was unpacked beforehand; fails where it was not
load_unpacked() {
	place=$state/kernels/$KERNEL_OLD/unpacked.window
	[ -e "$place" ] && load_preserved "$(cat "$place") --load" unpacked cmdline
}

# load_way_back: load the preserved kernel. It takes the frames only where the module has vouched for them: it starts as it does cold
# otherwise.
load_way_back() {
	if rearm_frames; then
		load_preserved "$WINDOW --load" patched cmdline "kup_ppp.table=$TABLE"
	else
		load_unpacked || load_preserved '--kexec-syscall-auto --load' vmlinuz cmdline
	fi
}

# go_back REASON: start the preserved kernel; returns only where kexec is refused
go_back() {
	advance "$PHASE" "$1" "$(data_left)"
	# The kernel loads one image at a time; what is left of this boot needs none for a panic.
	systemctl stop kup-crash.service
	if load_way_back; then
		mark kexec
		sync
		kexec --no-sync --exec
	fi
}
