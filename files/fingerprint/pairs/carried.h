/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is carried: units, their processes, and the connections that CRIU has seen to lead out of them. */
#ifndef FINGERPRINT_CARRIED_H
#define FINGERPRINT_CARRIED_H

#include <stdio.h>

#include "base/processes.h"

/* Bounds of what is read. */
#define CARRIED_UNITS_MAX 1024
#define CARRIED_PROCESSES_MAX ((size_t)1 << 20)
#define CARRIED_ENDS_MAX 16384

struct carried_unit {
	char *name;
	pid_t *processes;
	uint32_t *inodes;
	size_t processes_count, inodes_count;
};

struct carried {
	struct carried_unit *units;
	size_t count;
	size_t processes_count, inodes_count; /* of all units */
};

/*
 * Reads lines "unit NAME", and of that unit "process PID" and "socket INODE". -1 after saying what is wrong. Free it in any case.
 */
int carried_read(struct carried *carried, FILE *file);
void carried_free(struct carried *carried);
/* Whether CRIU has seen this connection to lead out of the unit. */
bool carried_leads_out(const struct carried_unit *unit, uint32_t inode);
bool carried_has_process(const struct carried *carried, pid_t pid);

#endif
