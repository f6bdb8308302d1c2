/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The format of engine foam's store: flat files for each object, which is a task's address space or a shared memory segment.
 *
 * task-ID.SSSS.pages, shmem-ID.SSSS.pages: the pages, sparse; the offset is the address. Each file has a segment of 8 TiB of
 * address space, because ext4 ends at 2^44; SSSS is its number, in hex.
 * task-ID.SSSS.sums, shmem-ID.SSSS.sums: eight bytes for each page: a checksum of content and address, or 0 (sum.h).
 * unfinished: exists while a round is being received (round.h).
 * paged-snapshot: which images belong to this store (images/snapshot_id.h).
 */
#ifndef PAGED_FLAT_FILE_H
#define PAGED_FLAT_FILE_H

#include "base/pages.h"

#define SEGMENT_SHIFT 43
#define SEGMENT_SIZE ((uint64_t)1 << SEGMENT_SHIFT)

struct segment {
	unsigned int number;
	int pages;
	/* The same file, opened past the page cache; -1 if the file system cannot. */
	int direct;
	/* Bytes in the page cache since the disk was told to begin. */
	uint64_t dirty;
	int sums;
};

struct object {
	int directory;
	enum object_type type;
	uint64_t id;
	bool writable;
	/* Segments of earlier rounds have been looked for. */
	bool all_open;
	struct segment *segments;
	size_t segment_count;
};

void object_init(struct object *object, int directory, enum object_type type, uint64_t id, bool writable);
void object_close(struct object *object);

/* One .pages or .sums file in the store. */
struct object_file {
	int directory;
	const char *name;
	enum object_type type;
	uint64_t id;
	unsigned int segment;
};
typedef int (*file_visitor)(const struct object_file *file, void *context);
/* Visits all files. Stops at the first visit that does not return 0, and returns that; -1 with errno. */
int object_each_file(int directory, file_visitor visit, void *context);
/* Whether an earlier round has left a file of the object. */
bool object_exists(int directory, enum object_type type, uint64_t id);

/* How many of the pages from this address on lie in the same segment. */
uint64_t segment_rest(uint64_t address, uint64_t pages);
/* The segment's open files, or NULL with errno (ENOENT if the object is read-only and has none there). */
struct segment *object_segment(struct object *object, uint64_t address);
static inline off_t segment_offset(uint64_t address)
{
	return (off_t)(address & (SEGMENT_SIZE - 1));
}

/* All in one segment. -1 with errno. Pages that were never written read as EIO or zeros, their sums as 0. */
int object_read(struct object *object, uint64_t address, void *pages, uint64_t count);
int object_read_sums(struct object *object, uint64_t address, uint64_t *sums, uint64_t count);
/* `pages` is aligned to PAGE_SIZE. `direct`: past the page cache, if there are enough pages. */
int object_write(struct object *object, uint64_t address, const void *pages, uint64_t count, bool direct);
int object_write_sums(struct object *object, uint64_t address, const uint64_t *sums, uint64_t count);
/* Clears the sums of [from, to), over any number of segments, and gives their disk space back. */
int object_forget(struct object *object, uint64_t from, uint64_t to);

#endif
