/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRIU's core-*.img: the addresses of a thread that are written to before the thread runs. */
#ifndef PAGED_CORE_H
#define PAGED_CORE_H

#include "base/pages.h"

/* Addresses and sizes in bytes; 0: the thread has none. */
struct core {
	uint64_t clear_tid;
	uint64_t fs_base;
	uint64_t rseq, rseq_size;
	uint64_t sp;
	uint64_t altstack, altstack_size;
	/* The process stood still (SIGSTOP). */
	bool stopped;
};

/* -1 after saying what is wrong with the image; `name` is the file's. */
int core_parse(const void *bytes, size_t size, const char *name, struct core *core);
/* The same, of a thread's image in this directory. */
int core_read(int directory, uint64_t thread, struct core *core);

#endif
