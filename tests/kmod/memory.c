// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

const struct area areas[AREAS] = {
	{ 0x200000000000, 6000, 1, PROT_READ | PROT_WRITE, false, false, false },
	{ 0x210000000000, 1024, 1, PROT_READ | PROT_WRITE, true, false, false },
	{ 0x220000000000, 300, 1, PROT_READ, false, false, false },
	{ 0x230000000000, 300, 1, PROT_NONE, false, false, false },
	{ 0x240000001000, 2000, 1, PROT_READ | PROT_WRITE, false, true, false },
	{ 0x250000000000, 600, 1, PROT_READ | PROT_WRITE, false, false, true },
	{ 0x260000000000, 6000, 2, PROT_READ | PROT_WRITE, false, false, false },
};

bool has_area(int task, const struct area *area)
{
	return task == 0 || area->is_shared;
}

/* How many are recorded. */
static uint64_t pages_in(const struct area *area)
{
	return area->pages / area->stride;
}

uint64_t pages_of(int task)
{
	uint64_t pages = 0;

	for (unsigned int i = 0; i < AREAS; i++)
		pages += has_area(task, areas + i) ? pages_in(areas + i) : 0;
	return pages;
}

uint32_t ranges_of(int task, struct kup_ppp_range *ranges)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < AREAS; i++) {
		const struct area *area = areas + i;
		uint64_t step = area->stride == 1 ? area->pages : area->stride, length = area->stride == 1 ? area->pages : 1;

		for (uint64_t page = 0; has_area(task, area) && page < area->pages; page += step) {
			uint64_t start = area->start + page * PAGE;

			require(number < RANGES, "fewer ranges");
			ranges[number++] = (struct kup_ppp_range){ start, start + length * PAGE };
		}
	}
	return number;
}

/* The word at `address` in the new kernel. */
static uint64_t pattern(const struct area *area, uint64_t address)
{
	uint64_t value = address * 0x9e3779b97f4a7c15ull;

	return (address - area->start) / PAGE % area->stride ? 0 : value ^ value >> 29;
}

static void make(const struct area *area)
{
	void *at = mmap((void *)area->start, area->pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	require(at == (void *)area->start, "mmap");
	require(!madvise(at, area->pages * PAGE, area->is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE), "madvise");
}

static void protect(const struct area *area, int protection)
{
	require(!mprotect((void *)area->start, area->pages * PAGE, protection), "mprotect");
}

void make_areas(int task)
{
	for (unsigned int i = 0; i < AREAS; i++)
		if (has_area(task, areas + i)) {
			make(areas + i);
			protect(areas + i, areas[i].protection);
		}
}

/* Bit 62 of an entry of pagemap. */
static uint64_t count_swapped(const struct area *area)
{
	uint64_t swapped = 0, entry;
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (uint64_t i = 0; i < area->pages; i++)
		if (pread(pagemap, &entry, 8, (area->start / PAGE + i) * 8) == 8)
			swapped += entry >> 62 & 1;
	close(pagemap);
	return swapped;
}

/* Not in order, so that neighbours in the area are none in memory; and what is not recorded lies in between there. */
static void fill(const struct area *area)
{
	for (uint64_t i = 0; i < area->pages; i++) {
		/* A prime number that divides no area. */
		uint64_t page = area->start + i * 7919 % area->pages * PAGE;

		for (uint64_t at = page; at < page + PAGE; at += 8)
			*(uint64_t *)at = pattern(area, at) ?: 0xbad0bad0bad0bad0;
	}
}

uint64_t make_filled_areas(void)
{
	uint64_t swapped = 0;

	for (unsigned int i = 0; i < AREAS; i++) {
		make(areas + i);
		fill(areas + i);
		protect(areas + i, areas[i].protection);
		if (areas[i].is_swapped) {
			madvise((void *)areas[i].start, areas[i].pages * PAGE, MADV_PAGEOUT);
			swapped += count_swapped(areas + i);
		}
	}
	return swapped;
}

static uint64_t wrong_words(const struct area *area)
{
	uint64_t wrong = 0;

	for (uint64_t at = area->start; at < area->start + area->pages * PAGE; at += 8)
		wrong += *(uint64_t *)at != pattern(area, at);
	return wrong;
}

void compare(int task)
{
	uint64_t wrong = 0, pages = 0;

	for (unsigned int i = 0; i < AREAS; i++)
		if (has_area(task, areas + i)) {
			if (areas[i].protection == PROT_NONE)
				protect(areas + i, PROT_READ);
			wrong += wrong_words(areas + i);
			pages += pages_in(areas + i);
		}
	say("wrong%d %" PRIu64, task, wrong);
	say("right%d %" PRIu64, task, wrong ? 0 : pages);
}

static void write_in_child(const struct area *area)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		for (uint64_t i = 0; i < area->pages; i++)
			*(uint64_t *)(area->start + i * PAGE) = i;
		_exit(0);
	}
	require(child > 0 && waitpid(child, &status, 0) == child && !status, "a child that writes");
	require(!wrong_words(area), "memory to be unchanged after a child's writes");
	/* The parent's turn: its pages are its own again. */
	for (uint64_t i = 0; i < area->pages; i++) {
		*(uint64_t *)(area->start + i * PAGE) ^= 1;
		*(uint64_t *)(area->start + i * PAGE) ^= 1;
	}
	require(!wrong_words(area), "memory to be writable after a fork");
}

/* Reclaim finds the pages through their reverse mapping, and swaps them out where it can. */
static void page_out(const struct area *area)
{
	require(!madvise((void *)area->start, area->pages * PAGE, MADV_PAGEOUT), "MADV_PAGEOUT");
	say("paged_out %" PRIu64, count_swapped(area));
	require(!wrong_words(area), "memory to be unchanged after MADV_PAGEOUT");
}

static void migrate(void)
{
	write_file("/proc/sys/vm/compact_memory", "1");
	for (unsigned int i = 0; i < AREAS; i++)
		require(!wrong_words(areas + i), "memory to be unchanged after compaction");
}

static void collapse(const struct area *area)
{
	require(!madvise((void *)area->start, area->pages * PAGE, MADV_HUGEPAGE), "MADV_HUGEPAGE");
	/* There may be no huge page. */
	if (!madvise((void *)area->start, area->pages * PAGE, MADV_COLLAPSE))
		say("collapsed %" PRIu64, area->pages);
	require(!wrong_words(area), "memory to be unchanged after MADV_COLLAPSE");
}

static void move(const struct area *area, uint64_t first, uint64_t pages)
{
	char *moved = mremap((void *)(area->start + first * PAGE), pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);

	require(moved != MAP_FAILED, "mremap");
	for (uint64_t at = 0; at < 2 * pages * PAGE; at += 8)
		require(*(uint64_t *)(moved + at) == (at < pages * PAGE ? pattern(area, area->start + first * PAGE + at) : 0),
			"moved memory to have its old content, and zeros behind");
	require(!munmap(moved, 2 * pages * PAGE), "munmap");
}

void use(void)
{
	const struct area *large = areas, *read_only = areas + 2;

	say("rss_kb %ld", number_in("/proc/self/status", "RssAnon: %ld"));
	compare(0);
	if (word("kuptest.lazy"))
		say_compared();
	write_in_child(large);
	protect(read_only, PROT_READ | PROT_WRITE);
	*(uint64_t *)read_only->start ^= 1;
	*(uint64_t *)read_only->start ^= 1;
	require(!wrong_words(read_only), "memory to be writable after mprotect");
	page_out(areas + 5);
	page_out(areas + 4);
	migrate();
	collapse(areas + 1);
	collapse(large);
	move(large, 1000, 1000);
	require(!madvise((void *)large->start, 500 * PAGE, MADV_DONTNEED) && !*(uint64_t *)large->start,
		"zeros after MADV_DONTNEED");
	for (unsigned int i = 0; i < AREAS; i++)
		require(!munmap((void *)areas[i].start, areas[i].pages * PAGE), "munmap");
	say("rss_after_kb %ld", number_in("/proc/self/status", "RssAnon: %ld"));
	say("swap_after_kb %ld", number_in("/proc/self/status", "VmSwap: %ld"));
}
