#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Before the first start of fail2ban in a boot that has the packet filter of the one before: remove the rules, chains and sets that are
# fail2ban's. It makes them anew, with the bans of its database that still hold; of a rule that is there twice it would remove one.

set -u

# clear_chains TOOL: with the iptables of this name
clear_chains() {
	rules=$("$1-save" -t filter 2>/dev/null) || return 0
	# The words of a rule that leads to one of its chains are plain.
	printf '%s\n' "$rules" | grep '^-A .* -j f2b-' | grep -v '^-A f2b-' | while read -r _ rule; do
		set -f
		# shellcheck disable=SC2086  # as many words as the rule has
		"$1" --wait -D $rule
	done
	printf '%s\n' "$rules" | sed -n 's/^:\(f2b-[^ ]*\) .*/\1/p' | while read -r chain; do
		"$1" --wait -F "$chain"
		"$1" --wait -X "$chain"
	done
}

for tool in iptables ip6tables; do
	! command -v $tool >/dev/null || clear_chains $tool
done
! command -v ipset >/dev/null || ipset list -name 2>/dev/null | grep '^f2b-' | while read -r name; do
	ipset destroy "$name"
done
! command -v nft >/dev/null || nft delete table inet f2b-table 2>/dev/null || :
