/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
#ifndef KUP_PAGES_H
#define KUP_PAGES_H

#include "memblock.h"

/* As in include/linux/mm_types.h, without debugging; the patcher compares it with the kernel's type information. */
#define STRUCT_PAGE 64

/* The memory that the code works on, see reserve.h. */
struct pages {
	const struct memblock *memblock;
	char *vmemmap; /* struct page of the physical page 0 */
	void (*initialise)(uint64_t start, uint64_t end, int nid);
};

/*
 * Initialise the struct pages of reserved memory [@start, @end), physical addresses, as the kernel's own @pages->initialise does: by it
 * for one of 2 MiB, and by copies of that for the others. It takes a tenth of the instructions, of which a machine has as many as pages
 * are kept. Memory that is not whole, and a struct page that does not look as expected, are left to the kernel.
 */
void initialise_pages(const struct pages *pages, uint64_t start, uint64_t end, int nid);

#endif
