/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of near peers. */
#ifndef FINGERPRINT_NEAR_H
#define FINGERPRINT_NEAR_H

#include <stdio.h>

#include "peers/endpoint.h"

struct near_peer {
	pid_t pid;
	int number;
	uint32_t round_trip; /* microseconds, the least that was measured */
	struct endpoint own, peer;
};

struct near_peers {
	struct near_peer *list;
	size_t count;
};

void near_write(FILE *file, const struct near_peer *one);
/* Reads a file with such lines. It is split in place; `name` is for messages. -1 after saying what is wrong. */
int near_parse(struct near_peers *peers, char *text, size_t size, const char *name);
void near_free(struct near_peers *peers);

#endif
