/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the two tasks, the same in every kernel: made and filled in the first, compared and used in the last. */
#ifndef MEMORY_H
#define MEMORY_H

#include "common.h"

#define TASKS 2

struct area {
	uint64_t start, pages;
	int protection;
	bool is_huge;
	bool is_shared;  /* copy-on-write with the second task, which has only these */
	bool is_swapped; /* when it is recorded */
};

#define AREAS 6
extern const struct area areas[AREAS];

bool has_area(int task, const struct area *area);
uint64_t pages_of(int task);

/* Empty areas of a task, with their protection. */
void make_areas(int task);

/* Make all areas, fill them and set their protection; returns how many pages are swapped out. */
uint64_t make_filled_areas(void);

/* Say how many words are wrong. */
void compare(int task);

/* Compare, and do with the first task's memory what processes do: nothing may tell that it was bound. */
void use(void);

#endif
