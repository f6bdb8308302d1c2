/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which carried units have which stream sockets open, and by which descriptor a copy of one is got. */
#ifndef FINGERPRINT_HOLDERS_H
#define FINGERPRINT_HOLDERS_H

#include "base/processes.h"
#include "pairs/carried.h"
#include "pairs/table.h"

struct holder {
	uint32_t inode;
	uint32_t unit; /* its index */
	pid_t process;
	int number;
};

struct holders {
	struct holder *list; /* by inode and unit: one for each unit that has the socket */
	size_t count;
};

/* -1 after saying why not. Free them in any case. */
int holders_find(struct holders *holders, const struct carried *carried, const struct unix_table *table);
void holders_free(struct holders *holders);
/* The first holder of the socket; the others, *count in all, follow it. NULL: no carried process has it. */
const struct holder *holders_of(const struct holders *holders, uint32_t inode, size_t *count);
/* A copy of the socket. -1 after saying why not. */
int holder_copy(const struct holder *holder);

#endif
