/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test helper: a thread that changes its pages in every way there is and knows what must be in each of them. */
#ifndef TEST_WORKER_H
#define TEST_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE 4096u
#define AREA_PAGES 1536u

uint64_t mix(uint64_t value);
uint64_t next_random(uint64_t *state);
/* Content of a page by its name; the name 0 is zeros. */
void page_fill(uint64_t *page, uint64_t name);

struct page {
	uint64_t *address;
	/* What must be in it; unmapped pages are not looked at. */
	uint64_t name;
	bool mapped;
	/* Pages of one area have come to where they are together: the kernel moves no more than one area at once. */
	uint64_t area;
	/* What was done to it last, and when (milliseconds of the clock): a dump shows as a gap between that and the wrong byte. */
	const char *last;
	uint64_t last_at;
};

struct worker {
	pthread_t thread;
	int number;
	volatile int *stop;
	/* While it is set there are no forks; may be NULL. */
	volatile int *alone;
	uint64_t random;
	uint64_t next_name;
	uint64_t forks, moves, areas;
	struct page pages[AREA_PAGES];
};

/* Until *stop; then looks at every page. Ends the process with 1 at the first wrong byte. */
void *worker_run(void *worker);

#endif
