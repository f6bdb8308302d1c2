/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections of a record, after the restore: their peers are told of something, by packets of our own, when packets flow again. */
#ifndef FINGERPRINT_CONNECTIONS_H
#define FINGERPRINT_CONNECTIONS_H

#include "peers/sender.h"
#include "sockets/found.h"

struct connection {
	pid_t pid;
	int number;
	struct identity identity;
	struct endpoint own, peer;
	struct sequences next; /* in the freeze */
	bool told;
	uint64_t received; /* bytes, before it was told */
};

struct connections {
	struct connection *list;
	size_t count;
};

/* The largest packet, behind the IP header. */
enum { PACKET_MAX = 128 };

struct telling {
	enum sender_kind kind;
	unsigned packets; /* for each peer, all the same */
	const char *what; /* "... were told to" */
	/* Writes the packet for this peer and returns its size; 0: it is not told. */
	size_t (*build)(const struct connection *connection, unsigned char packet[PACKET_MAX]);
};

/* Appends the connections of a record whose peers may have something to send. */
void connections_add(struct connections *connections, const struct sockets_found *found);
void connections_free(struct connections *connections);
/*
 * Tells all of them, and once more, twice, those from whom nothing has come since: packets are lost. Those inside the node are left out: both
 * ends stood still. -1: not all could be sent, it is said why.
 */
int connections_tell(struct connections *connections, const struct telling *telling);

#endif
