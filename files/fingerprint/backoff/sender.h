/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw sockets that send ICMP messages from the own end of a connection. */
#ifndef FINGERPRINT_SENDER_H
#define FINGERPRINT_SENDER_H

#include "backoff/message.h"

struct sender {
	int socket4, socket6; /* -1: not open */
	bool complained;
};

void sender_open(struct sender *sender);
/*
 * Sends the message `count` times to the peer, from this interface (0: by the routes). -1: the kernel refuses; the first time it is said
 * why.
 */
int sender_send(struct sender *sender, const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned interface,
		unsigned count);
void sender_close(struct sender *sender);

#endif
