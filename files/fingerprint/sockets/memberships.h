/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multicast groups of sockets. No call lists those of a socket; but the kernel lists the groups of each interface (/proc/net/igmp,
 * igmp6), and a socket that is asked for its filter of one of them (MCAST_MSFILTER, RFC 3678) answers only if it is a member.
 */
#ifndef FINGERPRINT_MEMBERSHIPS_H
#define FINGERPRINT_MEMBERSHIPS_H

#include <net/if.h>
#include <stdio.h>

#include "base/processes.h"

struct group {
	int family;
	unsigned char address[16];
	char interface[IF_NAMESIZE];
	unsigned index;
};

struct groups {
	struct group *list;
	size_t count;
};

/* The groups that applications have joined, without those that every interface is in. Without the file there are none. */
void groups_read(struct groups *groups);
/* The rows of such a file; for its tests. */
void groups_parse(struct groups *groups, FILE *file, int family);
void groups_free(struct groups *groups);

#define SOURCES_MAX 128

struct membership {
	struct group group;
	unsigned mode; /* MCAST_INCLUDE or MCAST_EXCLUDE */
	size_t count;
	unsigned char sources[SOURCES_MAX][16];
};

void memberships_record(FILE *file, const struct groups *groups, pid_t pid, int number, int socket, int family);
/* Words from INTERFACE on. -1: this is no membership. */
int membership_parse(char *const *words, size_t count, struct membership *membership);
/* Makes the socket a member, with this filter. -1 with errno. */
int membership_put_right(int socket, struct membership *membership);

#endif
