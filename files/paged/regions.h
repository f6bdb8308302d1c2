/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the pages of a snapshot belong in a running task that goes on mapping, moving and forking while they are
 * brought in. A region is a row of addresses and the row of snapshot addresses whose content belongs there. Events of
 * the kernel change regions; that a page is installed is only a bit, so a fault costs a binary search and no more.
 */
#ifndef PAGED_REGIONS_H
#define PAGED_REGIONS_H

#include "common.h"
#include "images.h"

struct region {
	uint64_t start;
	uint64_t pages;
	/* Address in the snapshot of the first page. */
	uint64_t source;
	/* Number of the first page among the snapshot's lazy pages: its bit. */
	uint64_t bit;
	/* Came here by mremap. */
	uint64_t moved;
};

struct regions {
	struct region *list;
	size_t count;
	size_t room;
	uint64_t *installed;
	uint64_t bits;
	/* Pages that are in a region and not installed. */
	uint64_t left;
	/* Where the background transfer goes on. */
	uint64_t cursor;
};

static inline uint64_t region_end(const struct region *region)
{
	return region->start + region->pages * PAGE_SIZE;
}

/* One region for each run that has PE_LAZY; nothing installed. */
void regions_init(struct regions *regions, const struct runs *runs);
/* From a journal: -1 if they overlap, leave user space or have bits beyond the snapshot's pages. */
int regions_load(struct regions *regions, const struct region *list, size_t count, uint64_t bits);
void regions_copy(struct regions *to, const struct regions *from);
void regions_free(struct regions *regions);

/* The region that holds this address, or NULL. */
struct region *regions_find(struct regions *regions, uint64_t address);
bool regions_installed(const struct regions *regions, uint64_t bit);
void regions_set_installed(struct regions *regions, uint64_t bit);
/* The next row of pages that are not installed, at or after the cursor or from the beginning again; false if none. */
bool regions_next(struct regions *regions, uint64_t most, uint64_t *address, uint64_t *pages);

/* What lies in [start, end) is given back: its addresses read as zeros from now on. */
void regions_remove(struct regions *regions, uint64_t start, uint64_t end);
/*
 * What lies in [start, end) is unmapped, except what came there by mremap. For a mapping is gone before its event is
 * queued: another thread may have moved pages to the free addresses, and its event may have come first. Whether the
 * moved pages are there is seen when they are installed, so the cursor goes to them.
 */
void regions_unmap(struct regions *regions, uint64_t start, uint64_t end);
void regions_move(struct regions *regions, uint64_t from, uint64_t to, uint64_t size);

#endif
