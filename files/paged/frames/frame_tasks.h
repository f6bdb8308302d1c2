/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of tasks beside the images of a dump whose pages stay in their page frames. One line for each process:
 * "PID STATE NUMBER PAGES LAZY". STATE is run or stopped. PAGES are bound before the process runs, LAZY ones when it needs them.
 */
#ifndef PAGED_FRAME_TASKS_H
#define PAGED_FRAME_TASKS_H

#include "base/pages.h"

#define TASKS_FILE "tasks"
#define FRAME_TASK_LINE_MAX 100

/* Names in the kernel module's table, which takes all pages of the first before those of the second. */
#define FRAMES_LAZY(number) (2 * (number))
#define FRAMES_EAGER(number) (2 * (number) + 1)

struct frame_task {
	int32_t pid;
	uint32_t number;
	uint64_t pages, lazy_pages;
};

struct frame_tasks {
	struct frame_task *list;
	size_t count;
};

/* Writes the task's line, at most FRAME_TASK_LINE_MAX bytes; returns its length. */
int frame_task_print(char *line, const struct frame_task *task, bool is_stopped);
/* Reads the list in this directory. -1 after saying what is wrong with it. Free with frame_tasks_free(), in either case. */
int frame_tasks_read(const char *images, struct frame_tasks *tasks);
void frame_tasks_free(struct frame_tasks *tasks);
/* The line of a process, or NULL. */
const struct frame_task *frame_tasks_find(const struct frame_tasks *tasks, uint64_t pid);

#endif
