/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose the frames are: a list of 64-bit words, in pages that are chained.
 *
 * A page's first word is the number of the next page's frame (0: the last); the list goes on in the other 511. It consists
 * of areas, pieces of one task's address space without a hole:
 *
 *	task << 32 | number of runs
 *	number of the first virtual page
 *	the runs, as in table.h, in the order of the addresses
 *
 * Areas of one task ascend and do not overlap. A frame that several pages share stands in several areas. The rest of the
 * last page is zero. Fields of the table's header say where it is:
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

static inline uint64_t kup_run(uint64_t first, uint64_t frames)
{
	return first << 24 | frames;
}

static inline uint64_t kup_run_end(uint64_t run)
{
	return kup_run_first(run) + kup_run_frames(run);
}

#endif
