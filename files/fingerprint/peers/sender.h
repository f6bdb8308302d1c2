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
/*
 * Waits until few packets of this family are left on the node, for so many seconds at most, and returns how many it has waited. As long as a
 * neighbour is not resolved, the kernel keeps its newest packets only (neigh/default/unres_qlen_bytes), of whatever socket: more of ours would
 * drop the applications' first answers.
 */
double sender_wait(const struct sender *sender, int family, double patience);
void sender_close(struct sender *sender);

#endif
