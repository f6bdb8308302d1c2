/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In the images of a dump whose pages stay in memory, a line for each process: "PID STATE NUMBER PAGES LAZY". STATE is run or
 * stopped; PAGES are put back before it runs, LAZY ones when it needs them.
 */
#ifndef PAGED_KEPT_TASKS_H
#define PAGED_KEPT_TASKS_H

#include "common.h"

#define TASKS_FILE "tasks"
#define KEPT_LINE_MAX 100

/* Names in the kernel module's table, which wants all pages of the first before those of the second. */
#define KEPT_LAZY(number) (2 * (number))
#define KEPT_EAGER(number) (2 * (number) + 1)

struct kept_task {
	int32_t pid;
	uint32_t number;
	uint64_t pages, lazy_pages;
};

struct kept_tasks {
	struct kept_task *list;
	size_t count;
};

/* The line, into KEPT_LINE_MAX bytes; returns its length. */
int kept_task_print(char *line, const struct kept_task *task, bool is_stopped);
/* -1 after one sentence. */
int kept_tasks_read(const char *images, struct kept_tasks *tasks);

#endif
