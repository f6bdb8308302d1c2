/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes connections anew, as they were: names, noted peers, queues, what is shut down. */
#ifndef FINGERPRINT_MAKE_H
#define FINGERPRINT_MAKE_H

#include "pairs/pair.h"

/* The sockets of the ends of one pair; -1: it was closed. */
struct made {
	int sockets[2];
};

/* One for each pair. NULL after saying why not; the process is to end then. */
struct made *pairs_make(const struct pairs *pairs, int data);

#endif
