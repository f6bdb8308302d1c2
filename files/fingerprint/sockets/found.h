/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of sockets, read again. All of it is read before anything is set: a damaged record changes nothing. */
#ifndef FINGERPRINT_SOCKETS_FOUND_H
#define FINGERPRINT_SOCKETS_FOUND_H

#include "base/lines.h"
#include "base/peer.h"
#include "sockets/file_name.h"
#include "sockets/identity.h"
#include "sockets/options.h"
#include "sockets/sequence.h"

struct socket_set {
	const char *words; /* NAME=VALUE, one behind the other, each with its NUL */
	size_t count;
};

struct socket_line {
	pid_t pid;
	int number;
	struct identity identity;
	size_t set;
	bool is_open;		/* data may come from the peer */
	struct sequences next;	/* if so: where the connection stood */
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

struct listener_line {
	pid_t pid;
	int number;
	struct peer noted;
};

struct sockets_found {
	struct socket_set *sets;
	struct socket_line *sockets;
	struct membership_line *memberships;
	struct name_line *names;
	struct listener_line *listeners;
	size_t sets_count, sockets_count, memberships_count, names_count, listeners_count;
	/* SO_REUSEADDR of the sockets without a peer on each port, plus one; 0: there are none. */
	unsigned char reuse[65536];
};

/* "NAME=VALUE" → its type and value. -1: it is no such word. */
int option_parse(const char *word, const struct option_type **type, struct option_value *value);
/* Takes a line, if it is of sockets: 0. 1: it is of something else. -1: it is not as it was written. */
int sockets_take(struct sockets_found *found, struct words *words);
void sockets_free(struct sockets_found *found);

#endif
