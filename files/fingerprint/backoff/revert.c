/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backoff/revert.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backoff/sender.h"
#include "sockets/sequence.h"

/*
 * Ten doublings of the least time, 0.2 s, are more than the longest, 120 s (net/ipv4/tcp_timer.c). With one message a peer still waits for
 * half of its time. Messages are lost like all packets: with 10 % loss, two more rounds take the 95th percentile from 4.6 s to 0.8 s.
 */
enum { MESSAGES = 10, ROUNDS = 3 };
#define BETWEEN_ROUNDS 0.6

/* A bound for thousands of connections: 27 Mbit/s with IPv4, 43 with IPv6. A hundred connections take 20 ms, 60,000 take 12 s a round. */
#define MESSAGES_PER_SECOND 50000.0
#define SHORTEST_SLEEP 0.002

struct connection {
	pid_t pid;
	int number;
	struct identity identity;
	struct endpoint own, peer;
	uint32_t expected;
	bool told;
	uint64_t received; /* bytes, before it was told */
};

/* ---- which connections ---- */

void connections_add(struct connections *connections, const struct sockets_found *found)
{
	for (size_t i = 0; i < found->sockets_count; i++) {
		const struct socket_line *line = &found->sockets[i];
		const struct end *local = &line->identity.local, *remote = &line->identity.remote;
		struct connection one = { .pid = line->pid, .number = line->number, .identity = line->identity, .expected = line->expected };

		if (line->is_open && !endpoint_parse((const struct sockaddr *)&local->address, local->size, &one.own) &&
		    !endpoint_parse((const struct sockaddr *)&remote->address, remote->size, &one.peer) && one.own.family == one.peer.family)
			APPEND(connections->list, connections->count, one);
	}
}

void connections_free(struct connections *connections)
{
	free(connections->list);
}

static bool same_address(const struct endpoint *one, const struct endpoint *other)
{
	return one->family == other->family && !memcmp(&one->address, &other->address, sizeof(one->address));
}

static bool is_loopback(const struct endpoint *end)
{
	return end->family == AF_INET ? ntohl(end->address.four.s_addr) >> 24 == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&end->address.six);
}

/* Leaves out the connections inside the node: both ends stood still, and have no back-off. */
static void leave_out_own(struct connections *connections)
{
	struct ifaddrs *addresses = NULL;
	size_t left = 0;

	if (getifaddrs(&addresses))
		addresses = NULL;
	for (size_t i = 0; i < connections->count; i++) {
		struct connection *one = &connections->list[i];
		bool own = is_loopback(&one->peer) || same_address(&one->own, &one->peer);
		struct endpoint end;

		for (struct ifaddrs *each = addresses; each && !own; each = each->ifa_next)
			own = each->ifa_addr && !endpoint_parse(each->ifa_addr, sizeof(struct sockaddr_in6), &end) &&
			      same_address(&end, &one->peer);
		if (!own)
			connections->list[left++] = *one;
	}
	connections->count = left;
	if (addresses)
		freeifaddrs(addresses);
}
/* ---- sending ---- */

/*
 * Whether the connection is there and still open for its peer. It may be closed, or another one by now. Its interface, which a socket is
 * bound to and a link-local address needs; the number of bytes that have come.
 */
static bool is_there(struct process_handle *handle, const struct connection *one, unsigned *interface, uint64_t *received)
{
	CLEANUP_FD int copy = copy_of(handle, one->pid, one->number);
	socklen_t size = sizeof(*interface);
	struct identity identity;

	if (copy < 0 || identify(copy, &identity) || !identity_equal(&identity, &one->identity) || !is_open_for_peer(copy, received))
		return false;
	if (getsockopt(copy, SOL_SOCKET, SO_BINDTOIFINDEX, interface, &size))
		*interface = 0;
	return true;
}

static void sleep_until(double when)
{
	double left = when - seconds_now();
	struct timespec time = { .tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9) };

	if (left > 0)
		nanosleep(&time, NULL);
}

/* Sends to those that are there, and have not sent anything since they were told. Returns their number. */
static size_t tell_all(const struct connections *connections, struct sender *sender, size_t *refused)
{
	struct process_handle handle = { .process = -1 };
	double start = seconds_now(), due;
	size_t told = 0, tried = 0;

	for (size_t i = 0; i < connections->count; i++) {
		struct connection *one = &connections->list[i];
		uint64_t received;
		unsigned interface;

		due = start + (double)(tried * MESSAGES) / MESSAGES_PER_SECOND;
		if (due - seconds_now() >= SHORTEST_SLEEP)
			sleep_until(due);
		if (!is_there(&handle, one, &interface, &received) || (one->told && received != one->received))
			continue;
		if (!one->told)
			one->received = received;
		one->told = true;
		tried++;
		if (sender_send(sender, &one->own, &one->peer, one->expected, interface, MESSAGES))
			(*refused)++;
		else
			told++;
	}
	close_fd(&handle.process);
	return told;
}

int backoff_revert(struct connections *connections)
{
	double next = 0;
	struct sender sender;
	size_t refused = 0;

	leave_out_own(connections);
	sender_open(&sender);
	for (int round = 1; round <= ROUNDS; round++) {
		sleep_until(next);
		next = seconds_now() + BETWEEN_ROUNDS;
		printf("round %d: %zu of %zu peers were told to send again\n", round,
		       tell_all(connections, &sender, &refused), connections->count);
		fflush(stdout);
	}
	sender_close(&sender);
	return refused ? -1 : 0;
}
