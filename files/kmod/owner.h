/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose the frames are: a list of 64-bit words, in pages that are chained.
 *
 * A page's first word is the number of the next page's frame (0: the last); the list goes on in the other 511. It consists
 * of areas, pieces of one task's address space without a hole:
 *
 *	task << 32 | number of runs
 *	number of the first virtual page
 *	the runs, in the order of the addresses
 *
 * A run is as in table.h, of up to 2^23 - 1 frames; with KUP_OWNER_DOWN the lowest address has the highest frame, as the
 * page allocator likes to give them. Areas ascend by task and page and do not overlap. A frame that several pages share
 * stands in several areas. The rest of the last page is zero. Fields of the table's header say where it is:
 */
#ifndef KUP_OWNER_H
#define KUP_OWNER_H

#include "table.h"

#define KUP_OWNER_WORDS 511

enum {
	KUP_OWNER_FIRST,  /* frame of the first page; 0: no list */
	KUP_OWNER_LENGTH, /* words */
	KUP_OWNER_DIGEST, /* XXH64, seed 0, of all its pages */
	KUP_OWNER_PAGES,  /* sum of the runs' frames */
};

#define KUP_RUN_MAX 0xffffffull

#define KUP_OWNER_DOWN (1ull << 23)
#define KUP_OWNER_RUN_MAX (KUP_OWNER_DOWN - 1)

static inline uint64_t kup_run(uint64_t first, uint64_t frames)
{
	return first << 24 | frames;
}

static inline uint64_t kup_run_end(uint64_t run)
{
	return kup_run_first(run) + kup_run_frames(run);
}

/* An owner's run as one of table.h. */
static inline uint64_t kup_owner_run(uint64_t word)
{
	return word & ~KUP_OWNER_DOWN;
}

/* The frame of an owner's run's page number `i`. */
static inline uint64_t kup_owner_frame(uint64_t word, uint64_t i)
{
	uint64_t run = kup_owner_run(word);

	return word & KUP_OWNER_DOWN ? kup_run_end(run) - 1 - i : kup_run_first(run) + i;
}

#endif
