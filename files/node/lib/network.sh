# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Packets of the applications, and of everybody else, while this boot restores.

# shellcheck disable=SC2154  # $run and $plan: lib/record.sh

# filter_packets: load the node's packet filter and the network lock, before any interface is up; on failure, $run/filter-said has the
# tool's words. The owner of the network lock is needed in any case, and saves the start of another nft.
filter_packets() {
	for tool in ipset iptables-nft ip6tables-nft iptables-legacy ip6tables-legacy; do
		[ -e "$plan/filter/$tool" ] || continue
		case $tool in
		ipset) set -- ipset restore ;;
		*) set -- "$tool-restore" --counters ;;
		esac
		"$@" <"$plan/filter/$tool" 2>"$run/filter-said" || return 1
	done
	start_owner && ask_owner "include \"$plan/packets.nft\"" 2>/dev/null && return
	nft -f "$plan/packets.nft" 2>"$run/filter-said"
}

# open_pipes: the pipes of the network lock's owner: 7 for commands, 9 for answers. For reading and writing, so that opening waits for
# nobody; with 8 closed, the answers end when the owner does.
open_pipes() {
	[ -p "$plan/lock-owner/commands" ] && [ -p "$plan/lock-owner/answers" ] || return 1
	exec 7<>"$plan/lock-owner/commands" 8<>"$plan/lock-owner/answers"
	exec 9<"$plan/lock-owner/answers"
}

# tell_owner COMMAND: send a command, and one that fails in any case: the answer to the second says that the first is done
tell_owner() {
	printf '%s\nlist table inet kup_end\n' "$1" >&7
	exec 7>&- 8>&-
}

# await_owner: wait until the owner has carried out its command; fails, with nft's words, if it has failed or has ended
await_owner() {
	failed=0 error=''
	while read -r said; do
		case $said in
		*kup_end*) return $failed ;; # and the error before it is the expected one
		esac
		[ -z "$error" ] || {
			failed=1
			echo "kup: $error" >&2
		}
		error=''
		case $said in
		*Error:*) error=$said ;;
		esac
	done <&9
	return 1
}

# start_owner: an nft that waits for commands
start_owner() {
	open_pipes || return 1
	nft --interactive <&7 >/dev/null 2>&8 7>&- 8>&- 9<&- &
	echo $! >"$run/lock-owner"
}

# own_network_lock: load the second table of the network lock. Its owner is the netlink socket of the nft that waits for commands: the
# kernel spares it when another program flushes the ruleset.
own_network_lock() {
	[ -e "$run/lock-owner" ] && open_pipes && tell_owner "include \"$plan/lock-owner/table.nft\""
}

# ask_owner COMMAND: have the owner carry out a command; fails if there is no owner
ask_owner() {
	[ -e "$run/lock-owner" ] && open_pipes || return 1
	tell_owner "$1"
	await_owner
}

# end_owner: the table ends with its owner
end_owner() {
	{ read -r owner <"$run/lock-owner" && read -r name <"/proc/$owner/comm"; } 2>/dev/null || return 0
	[ "$name" != nft ] || kill -KILL "$owner" 2>/dev/null || :
}

# allow_nonlocal_bind: CRIU sets IP_FREEBIND only after it has bound a socket
allow_nonlocal_bind() {
	[ ! -e "$plan/nonlocal-bind" ] || echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind || :
}

# forbid_nonlocal_bind: as it was before the switch
forbid_nonlocal_bind() {
	[ ! -e "$plan/nonlocal-bind" ] || cat "$plan/nonlocal-bind" >/proc/sys/net/ipv4/ip_nonlocal_bind || :
}

# lend_addresses: give the loopback interface the addresses that nobody has brought, and routes to everywhere that all others come before. With
# them a socket can be restored; its packets find their way when its address has come.
lend_addresses() {
	while read -r _route _get destination _from source; do
		! ip route get "$destination" from "$source" >/dev/null 2>&1 || continue
		case $source in
		*:*) length=128 everywhere=::/0 ;;
		*) length=32 everywhere=0.0.0.0/0 ;;
		esac
		echo "kup: nobody has brought $source; the unit is restored without it" >&2
		printf '%s\n' "address add $source/$length dev lo" "route add $everywhere dev lo metric 4000000000"
	done <"$plan/routes" >"$run/lent"
	ip -force -batch "$run/lent" 2>/dev/null || :
}

# take_back_addresses: end what lend_addresses has begun
take_back_addresses() {
	[ -e "$run/lent" ] || return 0
	sed 's/ add / del /' "$run/lent" | ip -force -batch - 2>/dev/null || :
	rm -f "$run/lent"
}

# open_network: remove both tables of the network lock; no error if they are not there. The owner does it without the start of another
# nft.
open_network() {
	opened=0
	ask_owner 'add table inet kup; delete table inet kup; delete table inet kup_held' || opened=1
	end_owner
	[ $opened = 0 ] || nft delete table inet kup || ! nft list table inet kup >/dev/null
}
