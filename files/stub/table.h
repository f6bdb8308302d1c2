/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The table of page frames that an old kernel leaves for the next one.
 *
 * Writers and readers share this file: the kernel module on both sides, and the stub in between. Everything
 * is little-endian. The command line of the new kernel names the header:
 *
 *	kup_ppp.table=0xADDRESS,0xNONCE
 *
 * A run of frames is one word: number of the first frame << 24 | number of frames (1 to 2^24 - 1). The runs are sorted
 * and do not overlap. They lie, 512 to a page, in the pages that the header's extents name (runs as well, but in the
 * order in which they are to be read); what is left of the last page is zero. The header's page and all pages of the
 * extents are themselves among the runs.
 */
#ifndef KUP_TABLE_H
#define KUP_TABLE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#define KUP_TABLE_MAGIC 0x6c62617450554b00ull /* "\0KUPtabl" */
#define KUP_TABLE_VERSION 1
#define KUP_TABLE_EXTENTS 496
/* A bound for arithmetic, not for machines: 2^32 runs would fill 32 GiB. */
#define KUP_TABLE_RUNS (1ull << 32)

/* state, once the new kernel has reserved every run: this word XOR the nonce */
#define KUP_TABLE_RESERVED 0x6465767265736572ull /* "reserved" */

struct kup_table {
	uint64_t magic;
	uint64_t digest;  /* XXH64, seed 0: the header from `version` on, then all pages of the extents, in their order */
	uint64_t state;   /* 0; written by the stub */
	uint64_t zero;
	uint32_t version; /* 32: the digest begins here */
	uint32_t extents;
	uint64_t nonce;   /* as on the command line: a table of another switch is none */
	uint64_t address; /* physical address of this header */
	uint64_t runs;
	uint64_t frames;  /* sum over all runs */
	uint64_t owner[7]; /* for the module; the stub only digests it */
	uint64_t extent[KUP_TABLE_EXTENTS];
};

_Static_assert(sizeof(struct kup_table) == 4096, "the header is one page");

static inline uint64_t kup_run_first(uint64_t run)
{
	return run >> 24;
}

static inline uint64_t kup_run_frames(uint64_t run)
{
	return run & 0xffffff;
}

#endif
