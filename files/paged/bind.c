/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kept frames become the memory of the restored processes: by as many threads as there are processors. */
#include "bind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "keep.h"

#define TASKS_SIZE_MAX ((size_t)8 << 20)
#define WORKERS_MAX KUP_PPP_PARTS_MAX
/* A process that has been told to stop does so when it is next scheduled. */
#define STOPPING_SECONDS 10.0

struct task {
	int32_t pid;
	uint32_t number;
	uint64_t pages;
	atomic_ulong bound;
};

struct binding {
	int device;
	struct task *tasks;
	size_t task_count;
	/* Each task's pages are divided among so many threads. */
	uint32_t parts;
	atomic_size_t next;
	atomic_ulong copied;
	atomic_bool failed;
};

static int parse_tasks(struct binding *binding, char *text)
{
	for (char *at = text, *line; (line = strsep(&at, "\n")) && *line;) {
		struct task task = { 0 };

		if (sscanf(line, "%" SCNd32 " %*7s %" SCNu32 " %" SCNu64, &task.pid, &task.number, &task.pages) != 3 || task.pid <= 1)
			return fail("the list of tasks has the line '%s', expected a process, its state, its number and its pages", line);
		binding->tasks = take_more(binding->tasks, binding->task_count + 1, sizeof(*binding->tasks));
		binding->tasks[binding->task_count++] = task;
	}
	return 0;
}

static int read_tasks(struct binding *binding, const char *images)
{
	CLEANUP_FD int directory = open_private_directory(images);
	CLEANUP_FD int file = directory < 0 ? -1 : openat(directory, TASKS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE char *text = NULL;
	struct stat status;

	if (directory < 0)
		return -1;
	if (file < 0 || fstat(file, &status))
		return fail_errno("the list of tasks in %s cannot be read", images);
	if (status.st_size < 0 || (size_t)status.st_size > TASKS_SIZE_MAX)
		return fail("the list of tasks in %s has %jd bytes, expected at most %zu", images, (intmax_t)status.st_size,
			    TASKS_SIZE_MAX);
	text = take((size_t)status.st_size + 1);
	if (read_all_at(file, text, (size_t)status.st_size, 0))
		return fail_errno("the list of tasks in %s cannot be read", images);
	text[status.st_size] = 0;
	return parse_tasks(binding, text);
}

static int bind_part(struct binding *binding, struct task *task, uint32_t part)
{
	double give_up = seconds_now() + STOPPING_SECONDS;

	for (;;) {
		struct kup_ppp_bind bind = { .pid = task->pid, .task = task->number, .part = part, .parts = binding->parts };

		if (!ioctl(binding->device, KUP_PPP_BIND, &bind)) {
			atomic_fetch_add(&task->bound, bind.pages);
			atomic_fetch_add(&binding->copied, bind.copied);
			return 0;
		}
		if (errno == ENOENT && !task->pages)
			return 0;
		if (errno != EAGAIN || seconds_now() > give_up)
			return fail_errno("the page of process %d at 0x%" PRIx64 " cannot be put back", task->pid,
					  (uint64_t)bind.failed_at);
		usleep(1000);
	}
}

static void *work(void *argument)
{
	struct binding *binding = argument;
	size_t job;

	while (!atomic_load(&binding->failed) &&
	       (job = atomic_fetch_add(&binding->next, 1)) < binding->task_count * binding->parts)
		if (bind_part(binding, &binding->tasks[job / binding->parts], (uint32_t)(job % binding->parts)))
			atomic_store(&binding->failed, true);
	return NULL;
}

static int bind_all(struct binding *binding)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[WORKERS_MAX];
	long count = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : processors, started = 0;

	/* Whoever has many small processes has work for all processors anyway. */
	binding->parts = binding->task_count < (size_t)count * 4 ? (uint32_t)count : 1;
	while (started < count - 1 && !pthread_create(&threads[started], NULL, work, binding))
		started++;
	work(binding);
	while (started)
		pthread_join(threads[--started], NULL);
	return atomic_load(&binding->failed) ? -1 : 0;
}

/* A page that is missing would read as zeros. */
static int check(const struct binding *binding, uint64_t *pages)
{
	for (size_t i = 0; i < binding->task_count; i++) {
		const struct task *task = &binding->tasks[i];

		if (task->bound != task->pages)
			return fail("process %d got %lu pages, expected %" PRIu64, task->pid, task->bound, task->pages);
		*pages += task->pages;
	}
	return 0;
}

int bind_tree(const char *images)
{
	struct binding binding = { .device = -1 };
	double start = seconds_now();
	uint64_t pages = 0;
	int result = read_tasks(&binding, images);

	if (!result)
		result = (binding.device = device_open()) < 0 || bind_all(&binding) || check(&binding, &pages) ? -1 : 0;
	if (!result)
		printf("{\"pages\": %" PRIu64 ", \"copied\": %lu, \"seconds\": %.4f}\n", pages, atomic_load(&binding.copied),
		       seconds_now() - start);
	close_fd(&binding.device);
	free(binding.tasks);
	return result || fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
