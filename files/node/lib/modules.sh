# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Modules that CRIU has the kernel load before it restores anything, and that a restore does not need: to load one takes longer than to restore
# a small application. While the bars stand the kernel finds none of them by itself; modprobe(8) finds them by name.

# shellcheck disable=SC2154  # $plan and $run: lib/record.sh

diag_bar=/run/modprobe.d/zz-kup-restoring.conf
veth_bar=/run/modprobe.d/zz-kup-veth.conf
diag_modules='af_packet_diag inet_diag netlink_diag raw_diag tcp_diag udp_diag'

# bar_modules: those that tell of sockets, which dumps need; and veth, with which CRIU tries whether the kernel tells of links into other
# namespaces, for `criu check --feature` only
bar_modules() {
	[ -d /run/modprobe.d ] || mkdir -p /run/modprobe.d
	# shellcheck disable=SC2086  # several modules
	printf 'blacklist %s\n' $diag_modules >$diag_bar
	# A listener of another user than root gets its queue's length back, which the kernel tells by this one (files/fingerprint/sockets/listener.c).
	grep -qs '^listener ' "$plan"/fingerprint-* || echo 'blacklist unix_diag' >>$diag_bar
	# Beside restores that come late there may be a network manager, which makes such links.
	[ ! -d "$plan/ahead" ] || [ -e "$run/early-again" ] || echo 'blacklist veth' >$veth_bar
}

# allow_veth: from the first restore on CRIU knows the kernel (/run/criu.kdat); where it fails, nobody waits for the rest of the boot
allow_veth() {
	[ ! -s $veth_bar ] || : >$veth_bar
}

# lift_bars: nothing is restored any more
lift_bars() {
	rm -f $diag_bar $veth_bar
}

# load_diag: what dumps need, before the next freeze, which may be that of a way back: CRIU, which knows the kernel by then, does not ask for it
load_diag() {
	# shellcheck disable=SC2086  # several modules
	modprobe --quiet --all $diag_modules unix_diag || :
}
