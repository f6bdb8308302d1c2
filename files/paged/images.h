/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CRIU's images as far as pages need them: reading and writing pagemap-*.img, the areas in mm-*.img, and a few
 * addresses in core-*.img. Format: two
 * u32 magics, then messages in protobuf's encoding, each behind its length as a u32.
 */
#ifndef PAGED_IMAGES_H
#define PAGED_IMAGES_H

#include "common.h"

/* Pages next to each other with the same flags (PE_*, wire.h). */
struct run {
	uint64_t address;
	uint64_t pages;
	unsigned int flags;
};

struct runs {
	struct run *list;
	size_t count;
	size_t room;
};

/* Appends; a run that continues the last one with the same flags extends it. */
void runs_add(struct runs *runs, uint64_t address, uint64_t pages, unsigned int flags);
void runs_free(struct runs *runs);
/* Sorts by address; -1 if two overlap. */
int runs_sort(struct runs *runs);

/* Both parse what somebody else wrote: -1 after one sentence that names the file. */
int pagemap_parse(const void *bytes, size_t size, const char *name, struct runs *runs);
/* Areas that CRIU restores on demand (criu/include/vma.h, vma_entry_can_be_lazy; not shadow stacks, which it fills before); the flags of the runs are PE_LAZY. */
int mm_parse(const void *bytes, size_t size, const char *name, struct runs *lazy);

/* Of a core-*.img, what tells which pages of the thread are written to before it runs, and whether the process stood still. */
struct core {
	uint64_t clear_tid;
	uint64_t fs_base;
	uint64_t rseq, rseq_size;
	uint64_t sp;
	uint64_t altstack, altstack_size;
	bool stopped;
};

int core_parse(const void *bytes, size_t size, const char *name, struct core *core);
int core_read(int directory, uint64_t thread, struct core *core);

int pagemap_read(int directory, uint64_t task, struct runs *runs);
int mm_read(int directory, uint64_t task, struct runs *lazy);

/* CRIU's own page server numbers its pages images from here, so that they do not meet those of the dump. */
#define PAGES_ID_BASE 0x10000u

/* The pagemap image and the (empty) file for its content, open for writing; -1 after saying why not. Not synced. */
int pagemap_write(int directory, enum object_type type, uint64_t id, uint32_t pages_id, const struct runs *runs);
int pages_create(int directory, uint32_t pages_id);

#endif
