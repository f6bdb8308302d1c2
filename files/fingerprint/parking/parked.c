/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parking/parked.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

void parked_write(FILE *file, const struct parked_peer *one)
{
	fprintf(file, "parked %u", one->interface);
	endpoint_write(file, &one->own);
	endpoint_write(file, &one->peer);
	fprintf(file, " %" PRIu32 " %" PRIu32 " %u\n", one->next.sent, one->next.expected, one->next.window);
}

static int take_line(struct words *words, void *context)
{
	struct parked_peers *peers = context;
	struct parked_peer one = { 0 };
	uint64_t interface, sent, expected, window;

	if (words->count != 9 || strcmp(words->word[0], "parked") || parse_number(words->word[1], INT_MAX, &interface) ||
	    endpoint_read(words->word + 2, &one.own) || endpoint_read(words->word + 4, &one.peer) || one.own.family != one.peer.family ||
	    parse_number(words->word[6], UINT32_MAX, &sent) || parse_number(words->word[7], UINT32_MAX, &expected) ||
	    parse_number(words->word[8], UINT16_MAX, &window))
		return -1;
	one.interface = (unsigned)interface;
	one.next = (struct sequences){ .sent = (uint32_t)sent, .expected = (uint32_t)expected, .window = (uint16_t)window };
	APPEND(peers->list, peers->count, one);
	return 0;
}

int parked_parse(struct parked_peers *peers, char *text, size_t size, const char *name)
{
	memset(peers, 0, sizeof(*peers));
	if (!lines_each(text, size, name, LINES_HEAD, take_line, peers))
		return 0;
	parked_free(peers);
	return -1;
}

void parked_free(struct parked_peers *peers)
{
	free(peers->list);
	memset(peers, 0, sizeof(*peers));
}
