# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is removed once nothing needs the checkpoint any more. Needs record.sh, timeline.sh, pages.sh and settings.sh.

# shellcheck disable=SC2154  # $run, $state and $lib: lib/record.sh

# release_frames: once the applications run with all of their memory, drop the kernel module's references to it and unload the module.
# While lazy pages are pending, only the frames that are in place are handed over: the kernel could not reclaim them otherwise.
release_frames() {
	{ [ -e /dev/kup_ppp ] && [ -e "$run/restore-done" ]; } || return 0
	if pages_pending; then
		"$lib/paged" hand-over >/dev/null 2>&1 || :
		return 0
	fi
	# Frames that no application took before its unit was given up belong to no application: abandon frees them.
	if "$lib/paged" release >/dev/null 2>&1 || "$lib/paged" abandon >/dev/null 2>&1; then
		event released
	fi
	restore_overcommit
	rmmod kup_ppp || : # a program that still has the device open calls this again when it ends
}

# finish_update: on the old kernel, remove the images and boot plans as soon as no lazy pages are pending. They hold secrets, and no
# controller may ever come to remove them.
finish_update() {
	[ "$PHASE" = fell_back ] && ! pages_pending || return 0
	rm -rf "${IMAGES:?}/${ID:?}" "${state:?}/boot"
}
