/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checksums of what a round has received, by a thread of their own: a frozen application waits for the slower of two. */
#ifndef PAGED_SUMMER_H
#define PAGED_SUMMER_H

#include <pthread.h>

#include "object.h"

#define SUMMER_JOBS 256

struct summer_job {
	enum object_type type;
	uint64_t id;
	/* Within one segment. */
	uint64_t address, pages;
	uint64_t lazy; /* SUM_LAZY or 0 */
};

struct summer {
	int store;
	pthread_t thread;
	bool running, ending;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* A ring: those from `done` to `added` are to be done. */
	struct summer_job jobs[SUMMER_JOBS];
	uint64_t added, done;
	int error; /* errno of the first that failed; after it nothing is done any more */
};

/* `store`: its directory, which stays open until the end. */
void summer_init(struct summer *summer, int store);
/* The content is written. -1 with errno: there is no thread, or an earlier job has failed. */
int summer_add(struct summer *summer, const struct summer_job *job);
/* Until all sums are written; -1 with errno. */
int summer_wait(struct summer *summer);
void summer_end(struct summer *summer);

#endif
