/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checksums and writing of what a round has received, by a thread of their own: a frozen application waits for the slower
 * of the two sides, not for their sum.
 */
#ifndef PAGED_WRITER_H
#define PAGED_WRITER_H

#include <pthread.h>

#include "store/object.h"

/* Of so many the disk is given one at a time: several of its own requests. */
#define CHUNK_PAGES ((uint64_t)512)
#define WRITER_CHUNKS 8

/* Pages in a row, all in one segment. */
struct chunk {
	enum object_type type;
	uint64_t id;
	uint64_t address, pages;
	/* Nobody reads it back in this boot: not through the page cache. */
	bool direct;
	uint8_t *content;
};

struct writer {
	int store;
	pthread_t thread;
	bool running, ending;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* A ring: those from `done` to `added` are to be written. */
	struct chunk chunks[WRITER_CHUNKS];
	uint8_t *memory;
	uint64_t added, done;
	int error; /* errno of the first that failed, the chunk at `done`; after it nothing is done any more */
};

/* `store`: its directory, which stays open until the end. */
void writer_init(struct writer *writer, int store);
/* The next one to be filled, CHUNK_PAGES at most; NULL with errno: there is no thread, or an earlier one has failed. */
struct chunk *writer_next(struct writer *writer);
/* It is filled. */
void writer_add(struct writer *writer);
/* Until all are written; -1 with errno. */
int writer_wait(struct writer *writer);
void writer_end(struct writer *writer);

#endif
