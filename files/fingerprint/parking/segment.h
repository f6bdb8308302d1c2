/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An acknowledgement without data, as the kernel would send it for a connection. */
#ifndef FINGERPRINT_SEGMENT_H
#define FINGERPRINT_SEGMENT_H

#include "peers/endpoint.h"
#include "sockets/sequence.h"

enum { SEGMENT_SIZE = 20 };

/* Writes the segment from `own` to `peer`, which have the same family. */
void segment_build(const struct endpoint *own, const struct endpoint *peer, const struct sequences *next,
		   unsigned char bytes[SEGMENT_SIZE]);

#endif
