/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peers that were told to wait: lines "parked INTERFACE OWN PORT PEER PORT SENT EXPECTED WINDOW". */
#ifndef FINGERPRINT_PARKED_H
#define FINGERPRINT_PARKED_H

#include "peers/endpoint.h"
#include "sockets/sequence.h"

struct parked_peer {
	unsigned interface;
	struct endpoint own, peer;
	struct sequences next; /* as the peer knows them, but for the window */
};

struct parked_peers {
	struct parked_peer *list;
	size_t count;
};

void parked_write(FILE *file, const struct parked_peer *one);
/* Reads a file with such lines. It is split in place; `name` is for messages. -1 after saying what is wrong. */
int parked_parse(struct parked_peers *peers, char *text, size_t size, const char *name);
void parked_free(struct parked_peers *peers);

#endif
