/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checksums and writing of the pages that a round receives, by a thread of their own: a frozen application waits for the slower one of
 * receiving and writing, not for both.
 */
#ifndef PAGED_WRITER_H
#define PAGED_WRITER_H

#include <pthread.h>

#include "store/flat_file.h"

/* A chunk is several requests of the disk. */
#define CHUNK_PAGES ((uint64_t)512)
#define WRITER_CHUNKS 8

/* Pages in a row, all in one segment. */
struct chunk {
	enum object_type type;
	uint64_t id;
	uint64_t address, pages;
	/* It is not read back in this boot, so it is written past the page cache. */
	bool direct;
	uint8_t *content;
};

struct writer {
	int store;
	pthread_t thread;
	bool running, ending;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* A ring: the chunks from `done` to `added` are to be written. */
	struct chunk chunks[WRITER_CHUNKS];
	uint8_t *memory;
	uint64_t added, done;
	int error; /* errno of the first chunk that failed, the one at `done`; nothing is written after it */
};

/* `store`: its directory, which stays open until the end. */
void writer_init(struct writer *writer, int store);
/* The next chunk to be filled, with CHUNK_PAGES at most. NULL with errno: there is no thread, or an earlier chunk has failed. */
struct chunk *writer_next(struct writer *writer);
/* The chunk of writer_next() is filled. */
void writer_add(struct writer *writer);
/* Waits until all are written. -1 with errno. */
int writer_wait(struct writer *writer);
/* Ends the thread, and frees the chunks. */
void writer_end(struct writer *writer);

#endif
