/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As much of the kernel as check.c and layout.c need, on a memory of the test's own. The other headers in this directory lead here. */
#ifndef SHIM_MM_H
#define SHIM_MM_H

#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../files/stub/xxh64.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef struct {
	long counter;
} atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

struct xarray {
	void *head;
};

struct page {
	bool is_reserved;
	int count;
};

#define PAGE_SHIFT 12
#define PAGE_SIZE 4096ul
#define PAGE_ALIGNED(address) (!((address) % PAGE_SIZE))
#define MAX_PHYSMEM_BITS 46
#define TASK_SIZE_MAX ((1ul << 47) - PAGE_SIZE)
#define PAGES_PER_SUBSECTION 512
#define ALIGN(n, d) (((n) + (d) - 1) / (d) * (d))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define GFP_KERNEL 0

/* The machine: frames from 0 on, all of them memory. */
#ifndef FRAMES
#define FRAMES 8192ul
#endif
extern struct page frames[FRAMES];
extern char *memory;

static inline bool pfn_valid(u64 frame)
{
	return frame < FRAMES;
}

static inline struct page *pfn_to_page(u64 frame)
{
	return &frames[frame];
}

static inline u64 page_to_pfn(const struct page *page)
{
	return (u64)(page - frames);
}

static inline struct page *virt_to_page(const void *address)
{
	return &frames[((const char *)address - memory) / PAGE_SIZE];
}

static inline void *page_address(const struct page *page)
{
	return memory + (page - frames) * PAGE_SIZE;
}

static inline bool PageReserved(const struct page *page)
{
	return page->is_reserved;
}

static inline int page_count(const struct page *page)
{
	return page->count;
}

/* The test's. */
void free_one_page(struct page *page);
#define __free_page(page) free_one_page(page)

#ifndef MAX_ORDER_NR_PAGES
#define MAX_ORDER_NR_PAGES 8ul
#endif
#define ilog2(number) (63 - __builtin_clzl(number))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define swap(a, b)                   \
	do {                         \
		typeof(a) one = (a); \
		(a) = (b);           \
		(b) = one;           \
	} while (0)

enum { REGION_INTERSECTS, REGION_MIXED };
enum { IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE };

static inline int region_intersects(u64 start, u64 size, int flags, int kind)
{
	(void)flags;
	(void)kind;
	return start + size <= FRAMES * PAGE_SIZE ? REGION_INTERSECTS : REGION_MIXED;
}

static inline void cond_resched(void)
{
}

/* What a machine of this size may ask for. */
static inline void *kvmalloc_array(size_t number, size_t size, int flags)
{
	(void)flags;
	return number > FRAMES * 2 ? NULL : malloc(number * size);
}

static inline void *kvcalloc(size_t number, size_t size, int flags)
{
	(void)flags;
	return calloc(number, size);
}

#define BITS_PER_LONG 64
#define BITS_TO_LONGS(number) DIV_ROUND_UP(number, BITS_PER_LONG)
#define BIT_WORD(bit) ((bit) / BITS_PER_LONG)
#define U64_MAX UINT64_MAX

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int number)
{
	for (unsigned int i = start; i < start + number; i++)
		map[i / BITS_PER_LONG] |= 1ul << i % BITS_PER_LONG;
}

static inline unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size, unsigned long at)
{
	while (at < size && map[at / BITS_PER_LONG] >> at % BITS_PER_LONG & 1)
		at++;
	return at;
}

static inline void kvfree(void *memory_of_it)
{
	free(memory_of_it);
}

#ifndef SORT
#define SORT qsort
#endif

static inline void sort(void *base, size_t number, size_t size, int (*compare)(const void *, const void *), void *swap)
{
	(void)swap;
	SORT(base, number, size, compare);
}

struct mutex {
	int held;
};

#define DEFINE_MUTEX(name) struct mutex name

static inline void mutex_lock(struct mutex *mutex)
{
	mutex->held++;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	mutex->held--;
}

struct xxh64_state {
	struct xxh64 hash;
};

static inline void xxh64_reset(struct xxh64_state *state, u64 seed)
{
	(void)seed;
	xxh64_begin(&state->hash);
}

static inline void xxh64_update(struct xxh64_state *state, const void *bytes, size_t length)
{
	xxh64_add(&state->hash, bytes, length / 32);
}

static inline u64 xxh64_digest(const struct xxh64_state *state)
{
	return xxh64_end(&state->hash);
}

#endif
