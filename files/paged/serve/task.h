/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One restored task: its userfaultfd, what belongs where in it, and the faults that wait. */
#ifndef PAGED_TASK_H
#define PAGED_TASK_H

#include "base/pages.h"
#include "images/runs.h"
#include "serve/regions.h"
#include "store/flat_file.h"

/* What was dumped of one task. Tasks that it forks while it is being restored share it. */
struct image {
	/* The task's process id at the dump. */
	uint64_t id;
	/* The flat files, unless the pages are in memory. */
	struct object files;
	struct runs runs;
	struct runs areas;
	uint64_t lazy_pages;
	/* The task's number in the list of frame tasks, if its pages are in memory. */
	uint32_t frame_task;
};

struct task {
	uint32_t number;
	/* The number of the task that CRIU restored; of a forked one, its ancestor's. */
	uint32_t root;
	int uffd;
	/* Of the root: its process id as CRIU named it, and its start time (0: not to be killed). */
	int32_t pid;
	uint64_t start_time;
	struct image *image;
	struct regions regions;
	/* It needs nothing any more, or does not exist any more. */
	bool done;
	/* The kernel refuses to install pages while events wait to be read. Addresses whose faults met that wait here. */
	bool blocked;
	uint64_t *waiting;
	size_t waiting_count;
	size_t waiting_room;
};

/* Closes and frees what the task holds, not the task. */
void task_free(struct task *task);
/* Ends the process that CRIU restored, if it still is that one. */
void task_kill(const struct task *task);

/* Notes a fault that must wait until the events are read; the same address only once. */
void task_wait(struct task *task, uint64_t address);
/* Whether events must be read before anything can be installed: a fork may be going on. */
bool task_unsettled(const struct task *task);
/* Whether its processes have ended. */
bool task_is_gone(const struct task *task);
/* Whether all its pages are installed, and no fault waits. */
bool task_is_drained(const struct task *task);

/* Wakes the threads that wait for pages in [address, address + size). -1 with errno. */
int task_wake(const struct task *task, uint64_t address, uint64_t size);
/* Wakes all threads: faults that a predecessor had read but not served are reported anew. -1 with errno. */
int task_wake_all(const struct task *task);

#endif
