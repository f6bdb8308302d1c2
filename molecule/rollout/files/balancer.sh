#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# HAProxy in the namespace of a lab, in front of its nodes' memcached: balancer.sh LAB SOCKET start|states|asked
set -eu
lab=$1 socket=$2 verb=$3
address=10.77.0.1 port=11311
inside="ip netns exec kup-$lab"
PATH=$PATH:/usr/sbin:/sbin

server() {
	echo "    server node$1 10.77.0.1$1:11211"
}

start() {
	{
		printf '%s\n' "global" "    stats socket $socket mode 600 level admin" "defaults" "    mode tcp" \
			"    timeout connect 5s" "    timeout client 60s" "    timeout server 60s" "listen cache" "    bind $address:$port"
		server 1
		server 2
	} >"$socket.cfg"
	$inside haproxy -D -q -f "$socket.cfg"
}

case $verb in
start) start ;;
# A line "NODE serving|drained|STATE" for each server.
states)
	echo "show servers state cache" | nc -U "$socket" |
		awk '$4 ~ /^node/ { print $4, $7 == 0 ? "serving" : $7 == 8 ? "drained" : $7 }' | sort
	;;
# The nodes that new connections lead to.
asked)
	for _ in 1 2 3 4 5 6; do
		printf 'get who\r\nquit\r\n' | $inside nc -w 10 "$address" "$port" | tr -d '\r' | grep '^node'
	done | sort -u
	;;
esac
