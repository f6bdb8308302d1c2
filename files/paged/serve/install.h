/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Installing pages in a restored task: out of the store, by UFFDIO_COPY, or the recorded frames, by the kernel module. */
#ifndef PAGED_INSTALL_H
#define PAGED_INSTALL_H

#include "serve/phase.h"
#include "serve/task.h"

/* Pages in one read and one UFFDIO_COPY at most. */
#define CHUNK_MAX 256

enum outcome {
	/* All pages are there. */
	INSTALLED,
	/* Not now: events must be read first. */
	BLOCKED,
	/* The process is gone. */
	GONE,
	/* Pages have been lost: the application has been stopped from reading them. */
	LOST,
};

struct installer {
	/* The kernel module, if it has the pages; -1: they come from the store. */
	int device;
	/* Room for CHUNK_MAX pages and their sums. */
	uint8_t *pages;
	uint64_t *sums;
	/* While CRIU restores, areas are registered one by one: a page that cannot be installed yet has to wait. */
	const enum phase *phase;
	/* Pages that could not be served: the journal's count. */
	uint64_t *lost;
};

void installer_init(struct installer *installer, const enum phase *phase);
void installer_free(struct installer *installer);

/* Serves a page fault: content, or a zero page where the snapshot has none. */
enum outcome install_fault(struct installer *installer, struct task *task, uint64_t address);
/* Installs the next pages of the background transfer, at most `most`. */
enum outcome install_next(struct installer *installer, struct task *task, uint64_t most);
/* Installs one page, given by its bit (regions.h), if the task still needs it. */
enum outcome install_bit(struct installer *installer, struct task *task, uint64_t bit);

#endif
