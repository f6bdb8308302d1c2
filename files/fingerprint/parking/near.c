/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parking/near.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

static size_t address_size(int family)
{
	return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

static void write_end(FILE *file, const struct endpoint *end)
{
	fputc(' ', file);
	value_write(file, &end->address, address_size(end->family));
	fprintf(file, " %u", ntohs(end->port));
}

void near_write(FILE *file, const struct near_peer *one)
{
	fprintf(file, "near %d %d %" PRIu32, one->pid, one->number, one->round_trip);
	write_end(file, &one->own);
	write_end(file, &one->peer);
	fputc('\n', file);
}

static int parse_end(char *const word[2], struct endpoint *end)
{
	ssize_t size = value_read(word[0], &end->address, sizeof(end->address));
	uint64_t port;

	if (size == (ssize_t)address_size(AF_INET))
		end->family = AF_INET;
	else if (size == (ssize_t)address_size(AF_INET6))
		end->family = AF_INET6;
	else
		return -1;
	if (parse_number(word[1], UINT16_MAX, &port))
		return -1;
	end->port = htons((uint16_t)port);
	return 0;
}

static int take_line(struct words *words, void *context)
{
	struct near_peers *peers = context;
	struct near_peer one = { 0 };
	uint64_t pid, number, round_trip;

	if (words->count != 8 || strcmp(words->word[0], "near") || parse_number(words->word[1], INT_MAX, &pid) || !pid ||
	    parse_number(words->word[2], INT_MAX, &number) || parse_number(words->word[3], UINT32_MAX, &round_trip) ||
	    parse_end(words->word + 4, &one.own) || parse_end(words->word + 6, &one.peer) || one.own.family != one.peer.family)
		return -1;
	one.pid = (pid_t)pid;
	one.number = (int)number;
	one.round_trip = (uint32_t)round_trip;
	APPEND(peers->list, peers->count, one);
	return 0;
}

int near_parse(struct near_peers *peers, char *text, size_t size, const char *name)
{
	memset(peers, 0, sizeof(*peers));
	if (!lines_each(text, size, name, LINES_HEAD, take_line, peers))
		return 0;
	near_free(peers);
	return -1;
}

void near_free(struct near_peers *peers)
{
	free(peers->list);
	memset(peers, 0, sizeof(*peers));
}
