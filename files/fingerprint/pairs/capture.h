/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one end is, read from a copy of its socket. */
#ifndef FINGERPRINT_CAPTURE_H
#define FINGERPRINT_CAPTURE_H

#include "pairs/pair.h"

/* All but the inode, the units, the queue and what is shut down. NULL, or why it cannot be carried: the end of a sentence. */
const char *capture_end(int socket, struct pair_end *end);
/* The name of the other end, also if that was closed. */
void capture_other_name(int socket, struct pair_end *other);

#endif
