/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parking/segment.h"

#include <netinet/tcp.h>
#include <string.h>

_Static_assert(sizeof(struct tcphdr) == SEGMENT_SIZE, "a header without options");

/* The sum of what RFC 9293 and RFC 8200 put in front of the segment. Its words come in any order. */
static uint32_t sum_of_ends(const struct endpoint *own, const struct endpoint *peer)
{
	size_t size = own->family == AF_INET ? sizeof(own->address.four) : sizeof(own->address.six);
	uint16_t ends[2 * sizeof(own->address.six) / sizeof(uint16_t)];
	uint32_t sum = (uint32_t)htons(IPPROTO_TCP) + htons(SEGMENT_SIZE);

	memcpy(ends, &own->address, size);
	memcpy((unsigned char *)ends + size, &peer->address, size);
	for (size_t i = 0; i < 2 * size / sizeof(*ends); i++)
		sum += ends[i];
	return sum;
}

void segment_build(const struct endpoint *own, const struct endpoint *peer, const struct sequences *next,
		   unsigned char bytes[SEGMENT_SIZE])
{
	struct tcphdr tcp = { .source = own->port, .dest = peer->port, .seq = htonl(next->sent), .ack_seq = htonl(next->expected),
			      .doff = SEGMENT_SIZE / 4, .ack = 1, .window = htons(next->window) };

	tcp.check = checksum(&tcp, sizeof(tcp), sum_of_ends(own, peer));
	memcpy(bytes, &tcp, sizeof(tcp));
}
