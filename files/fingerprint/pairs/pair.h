/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections between the processes of two units that are carried: both ends, as they stand still, and the file of them. */
#ifndef FINGERPRINT_PAIR_H
#define FINGERPRINT_PAIR_H

#include <stdio.h>

#include "base/peer.h"
#include "base/processes.h"

#define PAIRS_HEAD "kup-pairs 1"
#define PAIRS_FILE "pairs"
#define PAIRS_DATA "pairs-data"
/* Bounds of what is carried. */
#define PAIRS_MAX 8192
#define PAIRS_BYTES_MAX ((uint64_t)256 << 20)
#define MESSAGES_MAX 65536 /* of one queue */
#define PAIR_UNITS_MAX 16  /* that share one end */
#define PAIR_NAME_MAX 108  /* sizeof(sun_path) */
#define UNIT_NAME_MAX 255

struct pair_end {
	uint64_t inode; /* 0: it was closed */
	char **units;   /* whose processes have it; none: it was closed */
	size_t units_count;
	bool nonblocking;
	bool reset; /* ECONNRESET waits to be told: the other end was closed with unread bytes */
	int shut;   /* SHUT_DOWN_* */
	unsigned char name[PAIR_NAME_MAX]; /* without a NUL behind a path */
	size_t name_size;
	struct peer peer;
	/* What waits to be read; a stream has one message at most. */
	uint32_t *messages;
	size_t messages_count;
	uint64_t offset; /* of these bytes in the file of data */
};

/* include/net/sock.h, and what unix_diag(7) tells */
enum { SHUT_DOWN_RECEIVE = 1, SHUT_DOWN_SEND = 2 };
/* The place of each end in a connection that one has accepted; both have the same where socketpair(2) has made them. */
enum { ACCEPTED = 0, CONNECTED = 1 };

struct pair {
	int type;         /* SOCK_STREAM, SOCK_SEQPACKET */
	bool is_accepted; /* by connect(2) and accept(2); else by socketpair(2) */
	struct pair_end ends[2];
};

struct pairs {
	struct pair *list;
	size_t count;
	uint64_t bytes; /* of all queues */
};

/* Adds an empty pair. It is valid until the next one is added. */
struct pair *pairs_add(struct pairs *pairs);
void pairs_free(struct pairs *pairs);
bool end_is_closed(const struct pair_end *end);
uint64_t end_bytes(const struct pair_end *end);
/* Whether it is a path; else it is abstract, or there is none. */
bool name_is_path(const struct pair_end *end);
/* Adds one of the units whose processes have the end. -1: it is no unit's name, or there are too many. */
int end_add_unit(struct pair_end *end, const char *unit);

void pairs_write(const struct pairs *pairs, FILE *file);
/* Reads the file. -1 after saying what is wrong. Free the pairs in any case. */
int pairs_parse(struct pairs *pairs, char *text, size_t size, const char *name);

#endif
