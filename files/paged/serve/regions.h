/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the pages of a snapshot belong in a running task that goes on mapping, moving and forking while they are installed. The regions
 * of a task are its areas under userfaultfd: rows of addresses, each with the row of snapshot addresses whose content belongs there, or
 * with zeros. Events of the kernel change regions. That a page is installed is only a bit, so a fault costs one binary search.
 *
 * Events can come out of order: a thread unmaps or moves first and queues its event afterwards. In between, another thread may move pages
 * to the addresses that have become free, and queue its event first. Then the destination of that move is not free here yet. The regions
 * at the destination are put in the shadow, and the event that is still to come is about the shadow. Likewise, each move is followed by
 * an unmap event of its source, and by then other pages may be there.
 */
#ifndef PAGED_REGIONS_H
#define PAGED_REGIONS_H

#include "base/pages.h"
#include "images/runs.h"

/* Source of a region without content. */
#define SOURCE_ZEROS UINT64_MAX

struct region {
	uint64_t start;
	uint64_t pages;
	/* Address in the snapshot of the first page. */
	uint64_t source;
	/* Number of the first page among the snapshot's lazy pages: its bit. */
	uint64_t bit;
};

struct region_list {
	struct region *list;
	size_t count;
	size_t room;
};

struct regions {
	/* Ascending, not overlapping. */
	struct region_list now;
	struct region_list shadow;
	/* Sources of moves; only start and pages count. */
	struct region_list moved_away;
	uint64_t *installed;
	uint64_t bits;
	/* Pages that belong somewhere and are not installed. */
	uint64_t left;
	/* The address at which the background transfer goes on. */
	uint64_t cursor;
};

static inline uint64_t region_end(const struct region *region)
{
	return region->start + region->pages * PAGE_SIZE;
}

/* Of a region with content: the page at this address of it, by its address in the snapshot, and by its bit. */
static inline uint64_t region_source(const struct region *region, uint64_t address)
{
	return region->source + (address - region->start);
}

static inline uint64_t region_bit(const struct region *region, uint64_t address)
{
	return region->bit + (address - region->start) / PAGE_SIZE;
}

/*
 * The areas, with the content of the runs that have PE_LAZY; nothing installed. Both ascending. -1 if such a run lies
 * outside of the areas.
 */
int regions_init(struct regions *regions, const struct runs *runs, const struct runs *areas);
/* Regions from a journal. -1 if they overlap, leave user space or have bits beyond the snapshot's pages. */
int regions_load(struct regions *regions, const struct region *list, size_t count, uint64_t bits);
/* Those of a forked task. */
void regions_copy(struct regions *to, const struct regions *from);
void regions_free(struct regions *regions);

/* The region that holds this address, or NULL. */
struct region *regions_find(struct regions *regions, uint64_t address);
/* The address of a page that is known by its bit; false if it belongs nowhere any more. Looks at all regions. */
bool regions_find_bit(const struct regions *regions, uint64_t bit, uint64_t *address);
bool regions_installed(const struct regions *regions, uint64_t bit);
void regions_set_installed(struct regions *regions, uint64_t bit);
/* The next row of pages that are not installed, at or after the cursor, or else from the beginning; false if there is none. */
bool regions_next(struct regions *regions, uint64_t most, uint64_t *address, uint64_t *pages);

/* Events. What lies in [start, end) reads as zeros from now on. */
void regions_remove(struct regions *regions, uint64_t start, uint64_t end);
void regions_unmap(struct regions *regions, uint64_t start, uint64_t end);
void regions_move(struct regions *regions, uint64_t from, uint64_t to, uint64_t size);
/* Whether events are expected. When the kernel has none, regions_settle() drops what waits for them. */
bool regions_expecting(const struct regions *regions);
void regions_settle(struct regions *regions);

#endif
