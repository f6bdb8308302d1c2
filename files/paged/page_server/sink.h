/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of a socket that nobody needs: moved into /dev/null without a copy. */
#ifndef PAGED_SINK_H
#define PAGED_SINK_H

#include "base/pages.h"

struct sink {
	/* A pipe, and /dev/null. */
	int pipe[2], null;
};

#define SINK_CLOSED { .pipe = { -1, -1 }, .null = -1 }

/* -1 after saying why not. */
int sink_open(struct sink *sink);
void sink_close(struct sink *sink);
/* Takes so many bytes out of the socket. -1 after saying why not, also if the stream ends before. */
int sink_drop(const struct sink *sink, int socket, uint64_t bytes);

#endif
