/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a connection stands: its sequence numbers, and what it has room for. */
#ifndef FINGERPRINT_SEQUENCE_H
#define FINGERPRINT_SEQUENCE_H

#include "base/processes.h"

struct sequences {
	uint32_t expected; /* the next one of the peer (rcv_nxt) */
	uint32_t sent;	   /* the next own one (snd_nxt) */
	uint16_t window;   /* from `expected` on, as it stands in a segment; 0: there is no room, or `sent` is not known */
};

/*
 * Whether the peer may have sent data that has not arrived: it is connected, and has not ended its side. Where `received` is given, it
 * gets the number of bytes that have come so far.
 */
bool is_open_for_peer(int socket, uint64_t *received);
/* Reads them of a connection that is in repair mode. -1 with errno: it is not. Nothing is changed. */
int sequences_read(int socket, struct sequences *next);

#endif
