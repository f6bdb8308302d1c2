/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of runs: pages in a row with the same flags. Addresses are in bytes, multiples of PAGE_SIZE. */
#ifndef PAGED_RUNS_H
#define PAGED_RUNS_H

#include "base/pages.h"

struct run {
	uint64_t address;
	uint64_t pages;
	/* PE_*, page_server/wire.h. */
	unsigned int flags;
};

struct runs {
	struct run *list;
	size_t count;
	size_t room;
};

/* A list that frees itself at the end of its scope; begin it with { 0 }. */
void runs_free(struct runs *runs);
#define CLEANUP_RUNS __attribute__((cleanup(runs_free)))

/* The first byte behind the run. */
static inline uint64_t run_end(const struct run *run)
{
	return run->address + run->pages * PAGE_SIZE;
}

/* Appends a run. If it continues the last one with the same flags, the last one grows instead. */
void runs_add(struct runs *runs, uint64_t address, uint64_t pages, unsigned int flags);
/* Appends all runs of `more`, with these flags. */
void runs_append(struct runs *runs, const struct runs *more, unsigned int flags);
/* Sorts by address. -1 if two runs overlap; the list is sorted then, too. */
int runs_sort(struct runs *runs);
/* Sum of the pages. */
uint64_t runs_pages(const struct runs *runs);

/* A position in an ascending list that must not change meanwhile. Begin with { .runs = LIST }. */
struct runs_cursor {
	const struct runs *runs;
	size_t index;
	uint64_t address;
};

/* What is left of the run at the cursor. False at the end of the list. */
bool runs_rest(const struct runs_cursor *cursor, struct run *rest);
/* Moves the cursor up to this address, never back. Pages that it passes are appended to `passed`, unless that is NULL. */
void runs_pass(struct runs_cursor *cursor, uint64_t address, struct runs *passed);

/* Appends the pages of `all` that lie in one of the areas to `inside`, the others to `outside`. Areas ascend by address, and may overlap. */
void runs_divide(const struct runs *all, const struct runs *areas, struct runs *inside, struct runs *outside);

#endif
