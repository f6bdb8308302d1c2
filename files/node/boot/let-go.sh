# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The moment at which no unit is missing any more: the applications run, and packets flow. Until then nobody outside can have seen what one
# of the units did.

# shellcheck disable=SC2154  # variables of lib/record.sh

# resume_trees: have the trees that were restored stopped run
resume_trees() {
	for other in $UNITS; do
		[ ! -e "$run/$other.restored" ] || signal_tree CONT "$other"
	done
}

# go_on: packets flow, and then the trees run. An answer to what was asked before the freeze would meet the network lock otherwise, and TCP sends
# it again after a second or three only. Where the lock stays the trees run as well.
go_on() {
	flows=yes
	open_network || flows=no
	resume_trees
	[ $flows = yes ]
}

# give_frames: from here on the applications change their frames: no other kernel can take them, and nothing may fail any more
give_frames() {
	set +e
	# A module that does not know `seal` is older than crash kernels; the crash kernel must then not take the frames. It may not be loaded yet.
	"$lib/paged" seal >/dev/null || {
		: >"$run/unsealed"
		kexec --load-panic --unload
	}
}

# let_go UNIT: called for the last unit, which is UNIT, or for none. Two units may be the last at the same time; one of them goes on.
let_go() {
	decide go-on || return 1
	ln -s now "$run/open" 2>/dev/null || return 0
	[ ! -e "$plan/frames" ] || give_frames
	event restore-end
	locked=no
	go_on || locked=yes
	[ $locked = yes ] || event open
	unpark
	revert_backoff
	end_pairs
	forbid_nonlocal_bind
	take_back_addresses
	for other in $UNITS; do
		[ "$other" = "$1" ] || weigh_unit "$other" 10000 || :
	done
	# With frames this unit must not fail any more: it would end, and nobody has its memory.
	[ $locked = no ] || [ -e "$plan/frames" ] || return 1
	# The rest of the boot begins when this script ends. On one processor it would delay the first answers, which take 0.2 s alone there,
	# and up to 0.8 s beside it (QEMU, one nanosecond for each instruction).
	sleep 0.3
	# The page daemons begin to bring in pages that no application has asked for.
	: >"$run/rest"
}
