/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waits to be read from one end: copied while all stand still, and written again. */
#ifndef FINGERPRINT_QUEUE_H
#define FINGERPRINT_QUEUE_H

#include "pairs/pair.h"

/*
 * Appends the queue to the file `data`, and notes its messages. Nothing is taken away from the socket. `bytes` are there already.
 * NULL, or why it cannot be carried: the end of a sentence.
 */
const char *queue_copy(int socket, int type, struct pair_end *end, int data, uint64_t bytes);
/* Writes the queue of `end` to the other end's socket. -1 with errno. */
int queue_fill(int other, const struct pair_end *end, int data);

#endif
