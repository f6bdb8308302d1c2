/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PAGED_STORE_H
#define PAGED_STORE_H

#include "common.h"

/* Exists from the first byte of a round to its last: the store of a round that did not end is neither built upon nor served. */
#define UNFINISHED_FILE "unfinished"

struct store_options {
	const char *images;
	const char *store;
	int socket;
	/* Begin anew: what an earlier snapshot left in the store is deleted. */
	bool first;
	/* The tree stays frozen after this round: write what restore needs. */
	bool last;
};

/* Receives one round of CRIU's pages; the exit code. */
int store_round(const struct store_options *options);

#endif
