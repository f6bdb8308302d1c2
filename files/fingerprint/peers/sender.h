/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw sockets that send packets from the own end of a connection. Nothing is received. */
#ifndef FINGERPRINT_SENDER_H
#define FINGERPRINT_SENDER_H

#include <sys/uio.h>

#include "peers/endpoint.h"

enum sender_kind { SENDER_ICMP, SENDER_TCP };

struct sender {
	enum sender_kind kind;
	int flags;
	int socket4, socket6; /* -1: not open */
	bool complained;
};

/* `flags`: those of sendmsg(2). With MSG_DONTWAIT a packet for which the interface has no room is refused. */
void sender_open(struct sender *sender, enum sender_kind kind, int flags);
/*
 * Sends what follows the IP header `count` times to the peer, from this interface (0: by the routes). -1: the kernel refuses; the first
 * time it is said why.
 */
int sender_send(struct sender *sender, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content,
		unsigned count);
void sender_close(struct sender *sender);

#endif
