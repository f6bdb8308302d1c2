/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom the kernel has noted of a unix socket, and tells the other end: who has called listen(2), connect(2) or socketpair(2) (unix(7), SO_PEERCRED). */
#ifndef FINGERPRINT_PEER_H
#define FINGERPRINT_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define PEER_GROUPS_MAX 1024
/* PID LIVES USER GROUP GROUPS */
#define PEER_WORDS 5

struct peer {
	pid_t pid;
	bool lives; /* the process is one of those that are carried */
	uid_t user;
	gid_t group;
	uint32_t *groups; /* to be freed */
	size_t groups_count;
};

/* All but `lives`: of a listener itself, of other sockets their peer. NULL, or why it cannot be carried: the end of a sentence. */
const char *peer_read(int socket, struct peer *peer);
bool peer_equal(const struct peer *one, const struct peer *other);
/* The same without the process. */
bool peer_has_rights_of(const struct peer *one, const struct peer *other);
void peer_write(const struct peer *peer, FILE *file);
/* Reads PEER_WORDS words. -1: they are no peer. */
int peer_parse(struct peer *peer, char *const *word);

#endif
