/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection by which CRIU talks to its page server: requests and answers. */
#ifndef PAGED_PEER_H
#define PAGED_PEER_H

#include "page_server/wire.h"

/* Processes and pieces of shared memory in one tree; more is a broken or hostile sender. */
#define OBJECTS_MAX 65536

struct peer {
	int socket;
	enum wire_form form;
};

#define PEER(fd) { .socket = (fd) }

/* All of these return -1 after saying what is wrong. */
/* Checks that the socket is a unix stream whose other end is root's. The socket stays the caller's. */
int peer_open(const struct peer *opened);
/* The next request. */
int peer_request(struct peer *peer, struct wire_request *request);
/* Sends an answer of `size` bytes. */
int peer_answer(struct peer *peer, const void *bytes, size_t size);
/* Receives `size` bytes of a run's content. */
int peer_content(struct peer *peer, void *content, size_t size);

/* The object's kind, for messages. */
const char *type_name(enum object_type type);

#endif
