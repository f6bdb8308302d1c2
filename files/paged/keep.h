/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PAGED_KEEP_H
#define PAGED_KEEP_H

#include "common.h"

/*
 * In the images, a line for each process: "PID STATE TASK PAGES". STATE is run or stopped; TASK is its name in the kernel
 * module's table, and PAGES are there under that name.
 */
#define TASKS_FILE "tasks"

struct keep_options {
	const char *images;
	int socket;
};

/* CRIU's page server for a dump whose pages stay where they are; the exit code. */
int keep(const struct keep_options *options);

#endif
