/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the two tasks, the same in every kernel: made and filled in the first, compared and used in the last. */
#ifndef MEMORY_H
#define MEMORY_H

#include "common.h"

#define TASKS 2

struct area {
	uint64_t start, pages;
	uint64_t stride; /* 2: every other page is not recorded, so that it is empty in the new kernel */
	int protection;
	bool is_huge;
	bool is_shared;  /* copy-on-write with the second task, which has only these */
	bool is_swapped; /* when it is recorded */
};

#define AREAS 7
extern const struct area areas[AREAS];

bool has_area(int task, const struct area *area);
uint64_t pages_of(int task);

/* The ranges that are to be recorded; returns how many, RANGES at most. */
#define RANGES 4000
uint32_t ranges_of(int task, struct kup_ppp_range *ranges);

/* Empty areas of a task, with their protection. */
void make_areas(int task);

/* Make all areas, fill them and set their protection; returns how many pages are swapped out. */
uint64_t make_filled_areas(void);

/* A task's areas wait for pages from here on (userfaultfd); then all of both tasks, with `when_stopped` before the first runs. */
void wait_for_pages(int task);
/* Until all memory is free again that was filled; then the areas wait no more. */
void say_compared(void);
void fill_tasks(int device, const pid_t *tasks, void (*when_stopped)(void));

/* Say how many words are wrong. */
void compare(int task);

/* Compare, and do with the first task's memory what processes do: nothing may tell that it was bound. */
void use(void);

#endif
