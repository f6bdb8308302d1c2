/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The kernel's early memory map (include/linux/memblock.h), as it has been from 5.10 to 7.3. The patcher compares it with
 * the type information (BTF) of each kernel and refuses one that has another.
 */
#ifndef KUP_MEMBLOCK_H
#define KUP_MEMBLOCK_H

#include <stddef.h>
#include <stdint.h>

#define PAGE 4096ull

struct memblock_region {
	uint64_t base;
	uint64_t size;
	uint32_t flags;
	int32_t nid;
};

struct memblock_type {
	uint64_t cnt;
	uint64_t max;
	uint64_t total_size;
	struct memblock_region *regions;
	char *name;
};

struct memblock {
	uint8_t bottom_up;
	uint64_t current_limit;
	struct memblock_type memory;
	struct memblock_type reserved;
};

_Static_assert(sizeof(struct memblock_region) == 24, "struct memblock_region");
_Static_assert(offsetof(struct memblock, memory) == 16, "struct memblock");
_Static_assert(offsetof(struct memblock, reserved) == 56, "struct memblock");

#endif
