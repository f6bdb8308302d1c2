// SPDX-License-Identifier: GPL-3.0-or-later
/* Struct pages of reserved memory, under the sanitizers: made by copies they are what they would be without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../files/stub/pages.h"
#include "../check.h"

#define FRAMES 4096u /* 16 MiB */

static struct memblock_region memory_regions[2];
static struct memblock memblock = { .memory = { .regions = memory_regions } };
static uint64_t made[FRAMES][8];
static unsigned int calls, odd_word;

static int has_struct_page(uint64_t frame)
{
	for (uint64_t i = 0; i < memblock.memory.cnt; i++)
		if (frame * PAGE >= memory_regions[i].base && frame * PAGE < memory_regions[i].base + memory_regions[i].size)
			return 1;
	return 0;
}

/* As the kernel does it: pages that are not there are passed over. */
static void initialise(uint64_t start, uint64_t end, int nid)
{
	for (uint64_t frame = start / PAGE; frame < (end + PAGE - 1) / PAGE; frame++) {
		calls++;
		if (!has_struct_page(frame))
			continue;
		made[frame][0] = 0x1000 | (uint64_t)nid << 54 | frame / 512 << 40;
		made[frame][1] = made[frame][2] = (uint64_t)&made[frame][1];
		for (int i = 3; i < 8; i++)
			made[frame][i] = i == 6 ? 0xffffffff : 0;
		if (odd_word)
			made[frame][odd_word] = (uint64_t)made[frame] + 8;
	}
}

static void check(uint64_t start, uint64_t end, unsigned int most)
{
	static uint64_t expected[FRAMES][8];
	struct pages pages = { .memblock = &memblock, .vmemmap = (char *)made, .initialise = initialise };

	memset(made, 0xa5, sizeof(made));
	initialise(start, end, 3);
	memcpy(expected, made, sizeof(made));
	memset(made, 0xa5, sizeof(made));
	calls = 0;
	initialise_pages(&pages, start, end, 3);
	CHECK(!memcmp(expected, made, sizeof(made)));
	CHECK(calls <= most);
}

int main(void)
{
	const uint64_t mib = 1 << 20, all = FRAMES * PAGE;

	memory_regions[0] = (struct memblock_region){ .size = 9 * mib };
	memory_regions[1] = (struct memblock_region){ .base = 9 * mib, .size = 7 * mib };
	memblock.memory.cnt = 2;
	check(0, all, 8);
	check(5 * PAGE, all - 5 * PAGE, 507 + 6 + 507);
	check(2 * mib + PAGE, 4 * mib - PAGE, 510);
	check(2 * mib, 2 * mib + PAGE, 1);
	check(2 * mib, 2 * mib, 0);
	/* Part of a page is the whole page, as for the kernel. */
	check(4 * mib, 6 * mib + 100, 2);
	/* A block with a hole is left to the kernel. */
	memory_regions[1].base += PAGE;
	memory_regions[1].size -= PAGE;
	check(0, all, 7 + 512);
	memblock.memory.cnt = 1;
	check(0, all, 4 + 4 * 512);
	memblock.memory.cnt = 2;
	/* So is a struct page with a pointer to itself somewhere else, or an empty list in another place. */
	for (odd_word = 1; odd_word < 8; odd_word++)
		if (odd_word > 2) {
			check(0, 8 * mib, 4 * 513);
			CHECK(calls == 4 * 513);
		}
	puts("passed");
	return 0;
}
