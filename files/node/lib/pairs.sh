# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Unix connections between units that are restored by a CRIU each (files/fingerprint). One process makes them anew in the early boot, and
# keeps both ends until the restores have copied theirs.

# shellcheck disable=SC2154  # $run, $plan and $lib: lib/record.sh

# keep_pairs: make the connections anew. Where that fails, their units lack them.
keep_pairs() {
	{ [ -e "$plan/pairs/units" ] && [ ! -e "$run/keeper" ]; } || return 0
	if "$lib/fingerprint" keep-pairs "$plan/pairs" "$run/keeper" >"$run/pairs-said" 2>&1; then
		event pairs
		return 0
	fi
	said=''
	read -r said <"$run/pairs-said" || :
	while read -r unit; do
		echo "$unit needs its connections to other units, which could not be made anew: ${said:-fingerprint failed}" >"$run/$unit.lacks"
	done <"$plan/pairs/units"
}

# join_pairs UNIT COMMAND...: run COMMAND, criu(8), with the ends of UNIT
join_pairs() {
	if [ -e "$run/keeper" ]; then
		"$lib/fingerprint" join-pairs "$run/keeper" "$@"
	else
		shift
		"$@"
	fi
}

# end_pairs: close the copies. An end that no restore has taken is closed with them, so that its peer reads the end of the connection.
end_pairs() {
	[ ! -e "$run/keeper" ] || "$lib/fingerprint" end-pairs "$run/keeper" || :
}
