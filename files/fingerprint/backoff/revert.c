/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backoff/revert.h"

#include "backoff/message.h"

/*
 * Ten doublings of the least time, 0.2 s, are more than the longest, 120 s (net/ipv4/tcp_timer.c). With one message a peer still waits for
 * half of its time.
 */
enum { MESSAGES = 10 };

_Static_assert((int)MESSAGE_MAX <= (int)PACKET_MAX, "a message is a packet");

static size_t build(const struct connection *connection, unsigned char packet[PACKET_MAX])
{
	return message_build(&connection->own, &connection->peer, connection->next.expected, packet);
}

const struct telling backoff_revert = { .kind = SENDER_ICMP, .packets = MESSAGES, .what = "send again", .build = build };
