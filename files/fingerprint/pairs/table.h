/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The unix sockets of the network namespace, as the kernel lists them (unix_diag). */
#ifndef FINGERPRINT_TABLE_H
#define FINGERPRINT_TABLE_H

#include "base/processes.h"

struct unix_socket {
	uint32_t inode, peer; /* peer 0: none, or one that no process has any more or yet */
	unsigned char type, state;
	int shut;
	char name[128];      /* for people: "@" before an abstract one, "?" for what cannot be printed; "" for none */
	uint32_t *waiting;   /* of a listener: who has connected and was not accepted yet; 0: closed meanwhile */
	size_t waiting_count;
};

/* include/net/tcp_states.h */
enum { UNIX_CONNECTED = 1, UNIX_LISTENS = 10 };

struct unix_table {
	struct unix_socket *list; /* by inode */
	size_t count;
};

/* -1 after saying why not. Free it in any case. */
int unix_table_read(struct unix_table *table);
void unix_table_free(struct unix_table *table);
/* NULL: there is none. */
const struct unix_socket *unix_table_find(const struct unix_table *table, uint32_t inode);
/* Whether it can be one end of a pair: no datagram socket. */
bool unix_is_stream(const struct unix_socket *one);

#endif
