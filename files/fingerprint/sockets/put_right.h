/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the sockets of restored processes with what was recorded, sets from outside what differs, and says what is left.
 *
 * All of the record is read before anything is set: a damaged one changes nothing.
 */
#ifndef FINGERPRINT_SOCKETS_PUT_RIGHT_H
#define FINGERPRINT_SOCKETS_PUT_RIGHT_H

#include "base/processes.h"
#include "base/lines.h"
#include "sockets/file_name.h"
#include "sockets/identity.h"

struct socket_set {
	const char *words; /* NAME=VALUE, one behind the other, each with its NUL */
	size_t count;
};

struct socket_line {
	pid_t pid;
	int number;
	struct identity identity;
	size_t set;
	bool is_open;      /* data may come from the peer */
	uint32_t expected; /* the next of its sequence numbers then */
};

struct membership_line {
	pid_t pid;
	int number;
	char **words;
	size_t count;
};

struct name_line {
	pid_t pid;
	int number;
	struct file_name *name;
};

struct sockets_found {
	struct socket_set *sets;
	struct socket_line *sockets;
	struct membership_line *memberships;
	struct name_line *names;
	size_t sets_count, sockets_count, memberships_count, names_count;
	/* SO_REUSEADDR of the sockets without a peer on each port, plus one; 0: there are none. */
	unsigned char reuse[65536];
};

/* Takes a line, if it is of sockets: 0. 1: it is of something else. -1: it is not as it was written. */
int sockets_take(struct sockets_found *found, struct words *words);
/* Returns the number of differences that are left; each has been printed on stdout. */
size_t sockets_put_right(const struct sockets_found *found);
void sockets_free(struct sockets_found *found);

#endif
