/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parking/parking.h"
#include "parking/segment.h"

_Static_assert((int)SEGMENT_SIZE <= (int)PACKET_MAX, "a segment is a packet");

static size_t build(const struct connection *connection, unsigned char packet[PACKET_MAX])
{
	/* There was no room for more, or the application has something to say first, which tells of the window as well. */
	if (!connection->next.window)
		return 0;
	segment_build(&connection->own, &connection->peer, &connection->next, packet);
	return SEGMENT_SIZE;
}

const struct telling parking_open = { .kind = SENDER_TCP, .packets = 1, .what = "go on", .build = build };
