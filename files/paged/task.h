/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One restored task: its userfaultfd, what belongs where in it, and the installing of pages. */
#ifndef PAGED_TASK_H
#define PAGED_TASK_H

#include "common.h"
#include "object.h"
#include "regions.h"

/* Pages in one read and one UFFDIO_COPY at most. */
#define CHUNK_MAX 256

/* The snapshot of one dumped task; the tasks that it forks while it is being restored use it too. */
struct image {
	uint64_t id;
	struct object files;
	struct runs runs;
	struct runs areas;
	uint64_t lazy_pages;
	/* Its name in the kernel module's table, if pages come from there. */
	uint32_t kept;
};

struct task {
	uint32_t number;
	/* The task that CRIU restored; a forked one's ancestor. */
	uint32_t root;
	int uffd;
	/* Of the root: as CRIU named it, and when it started. */
	int32_t pid;
	uint64_t start_time;
	struct image *image;
	struct regions regions;
	/* Needs nothing any more, or does not exist any more. */
	bool done;
	/* The kernel refuses to install while events wait to be read; faults that met this are kept here. */
	bool blocked;
	uint64_t *waiting;
	size_t waiting_count;
	size_t waiting_room;
};

enum outcome {
	/* All of it is there. */
	INSTALLED,
	/* Read events first, then try again. */
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
	/* Areas are registered one by one until the restore has ended: what cannot be installed yet is kept. */
	bool restored;
	/* Pages that could not be served: the journal's count. */
	uint64_t *lost;
};

void installer_init(struct installer *installer);
void installer_free(struct installer *installer);

void task_free(struct task *task);
/* Serves a page fault: content, or a zero page where the snapshot has none. */
enum outcome task_fault(struct installer *installer, struct task *task, uint64_t address);
/* Installs the next pages in the background, at most this many. */
enum outcome task_prefetch(struct installer *installer, struct task *task, uint64_t most);
/* Installs one page, given by its bit, if the task still needs it. */
enum outcome task_bring_bit(struct installer *installer, struct task *task, uint64_t bit);
void task_wait(struct task *task, uint64_t address);
/* Whether there are events to be read before anything can be installed: a fork may be going on. */
bool task_unsettled(const struct task *task);
/* Faults that another process had read but not served are reported anew. */
int task_wake_all(const struct task *task);

/* When the process started, in clock ticks since boot; 0 if it is gone. */
uint64_t process_start_time(int32_t pid);
/* 0 if it is gone or in another namespace. */
int32_t process_parent(int32_t pid);
/* Ends the process that CRIU restored, if it still is that one. */
void task_kill(const struct task *task);

#endif
