/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By what a socket is recognized: what it is, and both of its ends. */
#ifndef FINGERPRINT_IDENTITY_H
#define FINGERPRINT_IDENTITY_H

#include <sys/socket.h>

#include "base/processes.h"

struct end {
	struct sockaddr_storage address;
	socklen_t size; /* 0: none, or of a family whose ends say nothing */
};

struct identity {
	int family, type, protocol;
	struct end local, remote;
	unsigned on; /* where its options are (options.h) */
};

/* -1: this is no socket. */
int identify(int socket, struct identity *identity);
bool identity_equal(const struct identity *one, const struct identity *other);
/* The port of an internet address; 0 if it has none. */
uint16_t end_port(const struct end *end);

#endif
