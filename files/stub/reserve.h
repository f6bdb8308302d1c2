/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
#ifndef KUP_RESERVE_H
#define KUP_RESERVE_H

#include "memblock.h"
#include "table.h"

/* The memory that the code works on: pointers, so that tests can supply their own. */
struct reserve {
	struct memblock *memblock;
	char *direct_map;     /* physical address 0 */
	uint64_t keep_off;    /* physical memory that looks free and is not: the room of this code */
	uint64_t keep_off_end;
	uint64_t code_size;   /* bytes of it that are to stay until memblock has given everything back; 0: none */
	const struct kup_table *table;
};

/*
 * Reserve every frame of the table that @command_line names, or nothing.
 *
 * Returns 0 if that is done (@reserve->table is the table) or if the command line names none (@reserve->table is 0),
 * else what is wrong, in a few words; memblock is as it was then.
 */
const char *reserve_table(struct reserve *reserve, const char *command_line);

/* Whether all of [@start, @end) is memory, reserved or not. */
int is_memory(const struct memblock *memblock, uint64_t start, uint64_t end);

#endif
