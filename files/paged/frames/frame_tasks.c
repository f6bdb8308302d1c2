/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frames/frame_tasks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_MAX_READ ((size_t)8 << 20)

int frame_task_print(char *line, const struct frame_task *task, bool is_stopped)
{
	return snprintf(line, FRAME_TASK_LINE_MAX, "%" PRId32 " %s %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", task->pid,
			is_stopped ? "stopped" : "run", task->number, task->pages, task->lazy_pages);
}

static int parse(struct frame_tasks *tasks, char *text)
{
	for (char *at = text, *line; (line = strsep(&at, "\n")) && *line;) {
		struct frame_task task = { 0 };

		if (sscanf(line, "%" SCNd32 " %*7s %" SCNu32 " %" SCNu64 " %" SCNu64, &task.pid, &task.number, &task.pages,
			   &task.lazy_pages) != 4 ||
		    task.pid <= 1 || task.number > INT32_MAX)
			return fail("the list of tasks has the line '%s', expected a process, its state, its number and its pages",
				    line);
		tasks->list = take_more(tasks->list, tasks->count + 1, sizeof(*tasks->list));
		tasks->list[tasks->count++] = task;
	}
	return 0;
}

int frame_tasks_read(const char *images, struct frame_tasks *tasks)
{
	*tasks = (struct frame_tasks){ 0 };

	CLEANUP_FD int directory = open_private_directory(images);
	CLEANUP_FD int file = directory < 0 ? -1 : openat(directory, TASKS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE char *text = NULL;
	struct stat status;

	if (directory < 0)
		return -1;
	if (file < 0 || fstat(file, &status))
		return fail_errno("the list of tasks in %s cannot be read", images);
	if (status.st_size < 0 || (size_t)status.st_size > SIZE_MAX_READ)
		return fail("the list of tasks in %s has %jd bytes, expected at most %zu", images, (intmax_t)status.st_size,
			    SIZE_MAX_READ);
	text = take((size_t)status.st_size + 1);
	if (read_all_at(file, text, (size_t)status.st_size, 0))
		return fail_errno("the list of tasks in %s cannot be read", images);
	text[status.st_size] = 0;
	return parse(tasks, text);
}

void frame_tasks_free(struct frame_tasks *tasks)
{
	free(tasks->list);
	*tasks = (struct frame_tasks){ 0 };
}

const struct frame_task *frame_tasks_find(const struct frame_tasks *tasks, uint64_t pid)
{
	for (size_t i = 0; i < tasks->count; i++)
		if ((uint64_t)tasks->list[i].pid == pid)
			return &tasks->list[i];
	return NULL;
}
