/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parking/near.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

void near_write(FILE *file, const struct near_peer *one)
{
	fprintf(file, "near %d %d %" PRIu32, one->pid, one->number, one->round_trip);
	endpoint_write(file, &one->own);
	endpoint_write(file, &one->peer);
	fputc('\n', file);
}

static int take_line(struct words *words, void *context)
{
	struct near_peers *peers = context;
	struct near_peer one = { 0 };
	uint64_t pid, number, round_trip;

	if (words->count != 8 || strcmp(words->word[0], "near") || parse_number(words->word[1], INT_MAX, &pid) || !pid ||
	    parse_number(words->word[2], INT_MAX, &number) || parse_number(words->word[3], UINT32_MAX, &round_trip) ||
	    endpoint_read(words->word + 4, &one.own) || endpoint_read(words->word + 6, &one.peer) || one.own.family != one.peer.family)
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
