# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The transaction record as the shell reads and writes it. Its format and phases are described in plugins/module_utils/_update/record.py.
# Nothing in this folder starts Python: an interpreter takes longer to start than all of these scripts together.

# shellcheck disable=SC2034  # used by the scripts that source this
state=/usr/local/var/kup
# Only a node whose /var is a file system of its own has it (plugins/module_utils/_paths.py).
[ -d $state ] || state=/var/lib/kup
run=/run/kup
lib=/usr/local/lib/kup

# intact FILE: whether FILE is a record as it was written: its first line is the SHA-256 of all others
intact() {
	{ read -r sign sum && [ "$sign $(sha256sum)" = "# $sum  -" ]; } 2>/dev/null <"$1"
}

# load_record: set a shell variable for each value of the record, $record (the file; empty: none is intact), $running (this kernel)
# and $plan (the boot plan of the checkpoint that this boot restores)
load_record() {
	PHASE='' REASON='' DATA='' ID='' IMAGES='' KERNEL_OLD='' KERNEL_NEW='' CHECKPOINT='' DISK_CHECKPOINT='' UNITS='' PANIC='' CRASHKERNEL=''
	ON_FAILURE='' FAILED_UNITS='' FRESH_UNITS='' RESTORE_TIMEOUT='' REVERT_BACKOFF='' PARK_CONNECTIONS='' record=''
	for file in $state/record $state/record.copy; do
		# The check comes first: no line of a damaged record may be executed.
		if intact "$file"; then
			record=$file
			# shellcheck disable=SC1090
			. "$record"
			break
		fi
	done
	read -r running </proc/sys/kernel/osrelease
	# Page frames are handed over on the kernel's command line. A boot without them is a cold start: only the disk checkpoint is left.
	[ -z "$DISK_CHECKPOINT" ] || frames_handed_over || CHECKPOINT=$DISK_CHECKPOINT
	plan=$state/boot/$CHECKPOINT
}

# make_run: the folder of what this boot has done, for root only
make_run() {
	# shellcheck disable=SC2174  # /run is always there
	[ -d $run ] || mkdir -p -m 700 $run
}

# frames_handed_over: whether this kernel was told of a table of page frames
frames_handed_over() {
	grep -q 'kup_ppp\.table=' /proc/cmdline
}

# goes_forward: whether this boot takes the applications to the new kernel, and not back to the old one
goes_forward() {
	[ "$running" = "$KERNEL_NEW" ] && [ "$PHASE" != returning ]
}

# one_line LENGTH: standard input as the record can hold it: printable ASCII, so many characters at most
one_line() {
	LC_ALL=C tr -c '[:print:]' ' ' | cut -c "1-$1" | sed 's/ *$//'
}

# quote TEXT: set $quoted to TEXT between quotes, as shlex.quote of the library writes it
quote() {
	quoted='' rest=$1
	while [ "$rest" != "${rest#*\'}" ]; do
		quoted="$quoted${rest%%\'*}'\"'\"'" rest=${rest#*\'}
	done
	quoted="'$quoted$rest'"
}

# advance PHASE [REASON [DATA]]: replace the record durably, also with the present $FAILED_UNITS and $FRESH_UNITS. The reason has gone
# through one_line or comes from the record.
advance() {
	# The lines of a damaged record must not come under a right sum.
	[ -n "$record" ] || return
	DATA=${3-$DATA}
	lines=$(
		LC_ALL=C grep -a -v -e '^#' -e '^PHASE=' -e '^REASON=' -e '^DATA=' -e '^FAILED_UNITS=' -e '^FRESH_UNITS=' "$record"
		quote "${2-}"
		printf "PHASE='%s'\nREASON=%s\nDATA='%s'\n" "$1" "$quoted" "$DATA"
		[ -z "$FAILED_UNITS" ] || printf "FAILED_UNITS='%s'\n" "$FAILED_UNITS"
		[ -z "$FRESH_UNITS" ] || printf "FRESH_UNITS='%s'\n" "$FRESH_UNITS"
	)
	sum=$(printf '%s\n' "$lines" | sha256sum)
	printf '# %s\n%s\n' "${sum%% *}" "$lines" >$state/record.new || return
	# Both files are synced: kexec forgets what has not reached the disk, and an older copy would be intact, too.
	cp $state/record.new $state/copy.new && sync $state/record.new $state/copy.new || return
	mv $state/copy.new $state/record.copy && mv $state/record.new $state/record || return
	sync $state
	record=$state/record
	PHASE=$1
}
