/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recorded frames become the memory of the restored processes, by as many threads as there are processors. */
#include "frames/bind.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frames/device.h"
#include "frames/frame_tasks.h"

#define WORKERS_MAX KUP_PPP_PARTS_MAX
/* A process that was told to stop does so when it is next scheduled. */
#define STOPPING_SECONDS 10.0

struct binding {
	int device;
	struct frame_tasks tasks;
	/* Pages that each task has got so far. */
	atomic_ulong *bound;
	/* Each task's pages are divided into so many parts; a job is one part of one task. */
	uint32_t parts;
	atomic_size_t next;
	atomic_ulong copied;
	atomic_bool failed;
};

static int bind_part(struct binding *binding, size_t number, uint32_t part)
{
	const struct frame_task *task = &binding->tasks.list[number];
	double give_up = seconds_now() + STOPPING_SECONDS;

	for (;;) {
		struct kup_ppp_bind bind = {
			.pid = task->pid, .task = FRAMES_EAGER(task->number), .part = part, .parts = binding->parts
		};

		if (!ioctl(binding->device, KUP_PPP_BIND, &bind)) {
			atomic_fetch_add(&binding->bound[number], bind.pages);
			atomic_fetch_add(&binding->copied, bind.copied);
			return 0;
		}
		if (errno == ENOENT && !task->pages)
			return 0;
		if (errno != EAGAIN || seconds_now() > give_up)
			return fail_errno("the page of process %d at 0x%" PRIx64 " cannot be bound", task->pid,
					  (uint64_t)bind.failed_at);
		usleep(1000);
	}
}

static void *work(void *argument)
{
	struct binding *binding = argument;
	size_t job;

	while (!atomic_load(&binding->failed) &&
	       (job = atomic_fetch_add(&binding->next, 1)) < binding->tasks.count * binding->parts)
		if (bind_part(binding, job / binding->parts, (uint32_t)(job % binding->parts)))
			atomic_store(&binding->failed, true);
	return NULL;
}

static int bind_all(struct binding *binding)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[WORKERS_MAX];
	long count = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : processors, started = 0;

	/* Many small processes are work enough for all processors; few large ones are divided. */
	binding->parts = binding->tasks.count < (size_t)count * 4 ? (uint32_t)count : 1;
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
	for (size_t i = 0; i < binding->tasks.count; i++) {
		const struct frame_task *task = &binding->tasks.list[i];

		if (binding->bound[i] != task->pages)
			return fail("process %d got %lu pages, expected %" PRIu64, task->pid, binding->bound[i], task->pages);
		*pages += task->pages;
	}
	return 0;
}

int bind_tree(const char *images)
{
	struct binding binding = { .device = -1 };
	double start = seconds_now();
	uint64_t pages = 0;
	int result = frame_tasks_read(images, &binding.tasks);

	binding.bound = take((binding.tasks.count + 1) * sizeof(*binding.bound));
	if (!result)
		result = (binding.device = device_open()) < 0 || bind_all(&binding) || check(&binding, &pages) ? -1 : 0;
	if (!result)
		printf("{\"pages\": %" PRIu64 ", \"copied\": %lu, \"seconds\": %.4f}\n", pages, atomic_load(&binding.copied),
		       seconds_now() - start);
	close_fd(&binding.device);
	free(binding.bound);
	frame_tasks_free(&binding.tasks);
	return result || fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
