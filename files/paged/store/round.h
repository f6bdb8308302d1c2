/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `paged store`: CRIU's page server for one round of a dump. */
#ifndef PAGED_ROUND_H
#define PAGED_ROUND_H

#include "base/pages.h"

/* Exists from the first byte of a round to its last. A store whose round did not end is neither built upon nor served. */
#define UNFINISHED_FILE "unfinished"

struct store_options {
	/* Of the last round: CRIU's images. */
	const char *images;
	const char *store;
	/* CRIU's page stream. */
	int socket;
	/* Begins anew: deletes what an earlier snapshot left in the store. */
	bool first;
	/* The tree stays frozen after this round: writes what restore needs. */
	bool last;
};

/* Receives one round of CRIU's pages, and prints its statistics as a line of JSON. The exit code. */
int store_round(const struct store_options *options);

#endif
