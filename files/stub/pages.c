// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#include "pages.h"

#include "reserve.h"

/* A block of page mobility (pageblock_order): its pages belong to one zone, and one node. */
#define BLOCK (2ull << 20)

/* struct page in words: flags, then an empty list (lru), that is two pointers to itself; then no pointer. */
enum { NEXT = 1, PREV, WORDS = STRUCT_PAGE / 8 };

static uint64_t *struct_page(const struct pages *pages, uint64_t address)
{
	return (uint64_t *)(pages->vmemmap + address / PAGE * STRUCT_PAGE);
}

static int is_as_expected(const uint64_t *page)
{
	uint64_t self = (uint64_t)&page[NEXT];

	for (int i = PREV + 1; i < WORDS; i++)
		if (page[i] - (uint64_t)page < STRUCT_PAGE)
			return 0;
	return page[NEXT] == self && page[PREV] == self;
}

/* All of one block; 0: nothing but the first page is done. */
static int copy_block(const struct pages *pages, uint64_t start, int nid)
{
	uint64_t *page = struct_page(pages, start), *end = struct_page(pages, start + BLOCK);
	uint64_t flags, a, b, c, d, e;

	pages->initialise(start, start + PAGE, nid);
	if (!is_as_expected(page))
		return 0;
	/* Word by word, in registers: the compiler's own copy, short rather than fast, would take three times as long. */
	flags = page[0];
	a = page[3];
	b = page[4];
	c = page[5];
	d = page[6];
	e = page[7];
	for (page += WORDS; page < end; page += WORDS) {
		page[0] = flags;
		page[NEXT] = page[PREV] = (uint64_t)&page[NEXT];
		page[3] = a;
		page[4] = b;
		page[5] = c;
		page[6] = d;
		page[7] = e;
	}
	return 1;
}

void initialise_pages(const struct pages *pages, uint64_t start, uint64_t end, int nid)
{
	while (start < end) {
		uint64_t stop = (start | (BLOCK - 1)) + 1;
		int is_whole = start % BLOCK == 0 && stop <= end && is_memory(pages->memblock, start, stop);

		stop = stop < end ? stop : end;
		if (!is_whole || !copy_block(pages, start, nid))
			pages->initialise(start, stop, nid);
		start = stop;
	}
}
