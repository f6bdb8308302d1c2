/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection to a CRIU that takes us for its page server: requests and answers. */
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

/* Each returns -1 after saying what is wrong. */
/* The peer must be root's. The socket stays the caller's. */
int peer_open(const struct peer *opened);
int peer_request(struct peer *peer, struct wire_request *request);
int peer_answer(struct peer *peer, const void *bytes, size_t size);
/* Content of a run. */
int peer_content(struct peer *peer, void *content, size_t size);

/* For messages. */
const char *type_name(enum object_type type);

#endif
