/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/task.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "serve/process.h"

/* vm.mmap_min_addr may be lower, but nothing is mapped there in practice. */
#define LOWEST ((uint64_t)65536)

void task_free(struct task *task)
{
	close_fd(&task->uffd);
	regions_free(&task->regions);
	free(task->waiting);
	task->waiting = NULL;
	task->waiting_count = task->waiting_room = 0;
}

void task_kill(const struct task *task)
{
	process_kill(task->pid, task->start_time);
}

void task_wait(struct task *task, uint64_t address)
{
	task->blocked = true;
	for (size_t i = 0; i < task->waiting_count; i++)
		if (task->waiting[i] == address)
			return;
	if (task->waiting_count == task->waiting_room) {
		task->waiting_room = task->waiting_room ? task->waiting_room * 2 : 16;
		task->waiting = take_more(task->waiting, task->waiting_room, sizeof(*task->waiting));
	}
	task->waiting[task->waiting_count++] = address;
}

/* The kernel looks at the number of pending events before it looks at the request, which is an impossible one. */
bool task_unsettled(const struct task *task)
{
	struct uffdio_copy probe = { .dst = 1, .len = 1 };

	return ioctl(task->uffd, UFFDIO_COPY, &probe) && errno == EAGAIN;
}

/* The kernel looks for the memory before it sees that no write in it is reported to this descriptor. */
bool task_is_gone(const struct task *task)
{
	struct uffdio_writeprotect probe = { .range = { .start = LOWEST, .len = PAGE_SIZE } };

	return ioctl(task->uffd, UFFDIO_WRITEPROTECT, &probe) && errno == ESRCH;
}

bool task_is_drained(const struct task *task)
{
	return !task->regions.left && !task->waiting_count;
}

int task_wake(const struct task *task, uint64_t address, uint64_t size)
{
	struct uffdio_range range = { .start = address, .len = size };

	return ioctl(task->uffd, UFFDIO_WAKE, &range);
}

int task_wake_all(const struct task *task)
{
	/* The ends are those of five and four levels. */
	const uint64_t ends[] = { (uint64_t)1 << 56, (uint64_t)1 << 47 };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!task_wake(task, LOWEST, ends[i] - PAGE_SIZE - LOWEST))
			return 0;
	return -1;
}
