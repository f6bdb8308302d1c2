/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records the sockets of frozen processes, each once:
 *   options N NAME=VALUE...                                       a set of options, before the first socket that has it
 *   socket PID DESCRIPTOR FAMILY TYPE PROTOCOL LOCAL REMOTE N     a socket, its ends, and its set
 *   sequence PID DESCRIPTOR NUMBER                                the next sequence number of the peer of this connection
 *   membership PID DESCRIPTOR INTERFACE GROUP MODE SOURCE...      a multicast group of this socket
 *   name PID DESCRIPTOR DIRECTORY BOUND CURRENT                   the file of this unix socket has another name than it was bound to
 * Most connections of a server have the same options, so there are few sets.
 */
#ifndef FINGERPRINT_SOCKETS_RECORD_H
#define FINGERPRINT_SOCKETS_RECORD_H

#include <stdio.h>

#include "base/processes.h"
#include "sockets/memberships.h"

struct sockets_recorder {
	FILE *file;
	struct groups groups;
	uint64_t *inodes; /* a hash set of the sockets that have been recorded; 0: free */
	size_t inodes_size, inodes_count;
	char **sets; /* a hash table of texts, each behind its number */
	size_t sets_size, sets_count;
};

void sockets_record_begin(struct sockets_recorder *recorder, FILE *file);
/* -1 after saying why not; a process that has ended has no sockets. */
int sockets_record(struct sockets_recorder *recorder, pid_t pid);
void sockets_record_end(struct sockets_recorder *recorder);

#endif
