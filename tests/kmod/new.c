// SPDX-License-Identifier: GPL-3.0-or-later
/* New kernel: fill all memory, bind the frames, and let the tasks run; or go on to the next kernel, or back to the old one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

/* Left to the kernel when everything else is filled. */
#define SPARE_KB 24576

/* A process that has taken all memory that was free. */
static pid_t fill(void)
{
	int ready[2];
	char byte;
	pid_t child;

	require(!pipe(ready), "pipe");
	child = fork();
	if (!child) {
		size_t pages = 0;

		for (long kb; (kb = number_in("/proc/meminfo", "MemAvailable: %ld")) > SPARE_KB;) {
			size_t size = (size_t)(kb - SPARE_KB / 2) / 2 * 1024 & -PAGE;
			char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			require(area != MAP_FAILED, "memory to fill");
			memset(area, 0xa5, size);
			pages += size / PAGE;
		}
		say("filled %zu", pages);
		require(write(ready[1], "", 1) == 1, "pipe");
		for (;;)
			pause();
	}
	close(ready[1]);
	require(read(ready[0], &byte, 1) == 1, "all memory to be filled");
	close(ready[0]);
	return child;
}

/* ---- the first task's memory cgroup, at its limit ---- */

static void make_limited_group(void)
{
	char limit[32];

	make_group();
	/* The process's own few pages are above it, once all others are there. */
	snprintf(limit, sizeof(limit), "%" PRIu64, pages_of(0) * PAGE / (word("kuptest.lazy") ? 4 : 1));
	write_file(GROUP "memory.max", limit);
}

static void check_group_when_bound(void)
{
	say("charged_kb %ld", number_in(GROUP "memory.current", "%ld") / 1024);
	say("at_limit %ld", number_in(GROUP "memory.events", "max %ld"));
	say("oom %ld", number_in(GROUP "memory.events", "oom %ld"));
	write_file(GROUP "memory.max", "max");
}

/* ---- the tasks, as a restore leaves them ---- */

static void make_first_task(void)
{
	join_group();
	make_areas(0);
	if (word("kuptest.lazy"))
		wait_for_pages(0);
}

static void make_second_task(void)
{
	make_areas(1);
	if (word("kuptest.lazy"))
		wait_for_pages(1);
}

static void use_second(void)
{
	compare(1);
}

static void finish(pid_t pid, const char *what)
{
	int status;

	require(!kill(pid, SIGCONT), what);
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), what);
}

/* ---- binding ---- */

#define PARTS 3

struct part {
	int device;
	struct kup_ppp_bind bind;
	int error;
	pthread_t thread;
};

static void *bind_part(void *argument)
{
	struct part *part = argument;

	part->error = ioctl(part->device, KUP_PPP_BIND, &part->bind) ? errno : 0;
	return NULL;
}

/* All parts of both tasks at once, so that they meet at the frames that they share. */
static void bind_tasks(int device, const pid_t *tasks)
{
	struct part parts[TASKS * PARTS];
	uint64_t bound[TASKS] = {}, copied = 0;
	double begun = seconds();

	for (unsigned int i = 0; i < TASKS * PARTS; i++) {
		unsigned int task = i % TASKS;

		parts[i] = (struct part){ device, { .pid = tasks[task], .task = task, .part = i / TASKS, .parts = PARTS }, 0, 0 };
		require(!pthread_create(&parts[i].thread, NULL, bind_part, &parts[i]), "thread");
	}
	for (unsigned int i = 0; i < TASKS * PARTS; i++) {
		pthread_join(parts[i].thread, NULL);
		if (parts[i].error)
			say("failed BIND of task %d: %s at %llx", parts[i].bind.task, strerror(parts[i].error),
			    parts[i].bind.failed_at);
		bound[parts[i].bind.task] += parts[i].bind.pages;
		copied += parts[i].bind.copied;
	}
	say("bound0 %" PRIu64, bound[0]);
	say("bound1 %" PRIu64, bound[1]);
	say("copied %" PRIu64, copied);
	say("bind_ms %.1f", 1000 * (seconds() - begun));
}

static int attach(uint64_t address, uint64_t nonce)
{
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "table=0x%" PRIx64 ",0x%" PRIx64, address, nonce);
	return load_module("/kup_ppp.ko", parameters);
}

static void check_status(int device, enum kup_ppp_state state, uint64_t bound)
{
	struct kup_ppp_status status;

	require(!ioctl(device, KUP_PPP_STATUS, &status) && status.state == state && status.bound == bound, "STATUS");
}

static void refusals_before(int device, pid_t one)
{
	struct kup_ppp_bind bind = { .pid = one, .parts = 1 };
	struct kup_ppp_release release = {};

	refused(device, KUP_PPP_BEGIN, &(struct kup_ppp_begin){}, EBUSY, "BEGIN with a table");
	refused(device, KUP_PPP_DROP, NULL, EBUSY, "DROP of a table");
	refused(device, KUP_PPP_RELEASE, &release, EBUSY, "RELEASE before BIND");
	release.flags = 2;
	refused(device, KUP_PPP_RELEASE, &release, EINVAL, "an unknown flag");
	bind.parts = 0;
	refused(device, KUP_PPP_BIND, &bind, EINVAL, "no part");
	bind.parts = KUP_PPP_PARTS_MAX + 1;
	refused(device, KUP_PPP_BIND, &bind, EINVAL, "too many parts");
	bind.parts = bind.part = 1;
	refused(device, KUP_PPP_BIND, &bind, EINVAL, "a part behind the last");
	bind.part = 0;
	bind.pid = 32000;
	refused(device, KUP_PPP_BIND, &bind, ESRCH, "no such process");
	bind.pid = getpid();
	refused(device, KUP_PPP_BIND, &bind, EAGAIN, "a process that runs");
	bind.pid = one;
	bind.task = 7;
	refused(device, KUP_PPP_BIND, &bind, ENOENT, "a task that was not recorded");
}

static void nothing(void)
{
}

/* A process whose areas are not there, or already have a page: nothing may be lost. */
static void refusals_of_areas(int device)
{
	struct kup_ppp_bind bind = { .parts = 1 };
	pid_t other = start_stopped(nothing, nothing);

	bind.pid = other;
	refused(device, KUP_PPP_BIND, &bind, EFAULT, "a process without the areas");
	require(bind.failed_at == areas[0].start && !bind.pages, "failed_at to be the first area");
	check_status(device, KUP_PPP_ATTACHED, 0);
	end_child(other);
}

static void bind_and_use(uint64_t address, uint64_t nonce)
{
	long before = number_in("/proc/meminfo", "MemTotal: %ld");
	struct kup_ppp_bind again = { .parts = 1 };
	struct kup_ppp_release release = {};
	pid_t tasks[TASKS], filler = fill();
	double begun;
	int device;

	if (word("kuptest.hostile"))
		hostile_tables(address, nonce);
	begun = seconds();
	require(!attach(address, nonce), "the table to be attached");
	say("attach_ms %.1f", 1000 * (seconds() - begun));
	device = unload_refused(open_device());
	make_limited_group();
	tasks[0] = start_stopped(make_first_task, use);
	tasks[1] = start_stopped(make_second_task, use_second);
	if (word("kuptest.lazy")) {
		fill_tasks(device, tasks, check_group_when_bound);
		check_status(device, KUP_PPP_RUNNING, pages_of(0));
		refused(device, KUP_PPP_RELEASE, &release, EBUSY, "RELEASE while the second task's own frames are not bound");
		release.flags = KUP_PPP_RELEASE_UNBOUND;
	} else {
		refusals_before(device, tasks[0]);
		refusals_of_areas(device);
		bind_tasks(device, tasks);
		check_group_when_bound();
		check_status(device, KUP_PPP_ATTACHED, pages_of(0) + pages_of(1));
		again.pid = tasks[0];
		refused(device, KUP_PPP_BIND, &again, EEXIST, "a second BIND");
		require(again.failed_at == areas[0].start && !again.pages, "failed_at to be the first page");
	}
	device = unload_refused(device);
	begun = seconds();
	require(!ioctl(device, KUP_PPP_RELEASE, &release), "RELEASE");
	say("release_ms %.1f", 1000 * (seconds() - begun));
	refused(device, KUP_PPP_RELEASE, &release, EBUSY, "a second RELEASE");
	say("freed %llu", release.freed);
	end_child(filler);
	switch_swap_on();
	finish(tasks[1], "the second task");
	finish(tasks[0], "the first task");
	say("still_charged_kb %ld", number_in(GROUP "memory.current", "%ld") / 1024);
	close(device);
	require(!unload_module("kup_ppp"), "the module to be unloaded");
	say("gained_kb %ld", number_in("/proc/meminfo", "MemTotal: %ld") - before);
	/* A table of another time: its frames are anybody's. */
	require(attach(address, nonce) == EINVAL, "a released table to be refused");
	say("slab_poison %ld", number_in("/sys/kernel/slab/kmalloc-64/poison", "%ld"));
	/* All of it once more, with what was bound and given back. */
	end_child(fill());
}

/* As when a restore fails: what is bound is given up, and the old kernel starts with the same table. */
static void bind_and_go_back(uint64_t address, uint64_t nonce)
{
	struct kup_ppp_bind bind = { .parts = 1 };
	pid_t tasks[TASKS], filler = fill();
	int device;

	require(!attach(address, nonce), "the table to be attached");
	device = open_device();
	make_limited_group();
	tasks[0] = start_stopped(make_first_task, nothing);
	tasks[1] = start_stopped(make_second_task, nothing);
	bind_tasks(device, tasks);
	end_child(tasks[0]);
	end_child(tasks[1]);
	/* What the tasks have left must not be free now. */
	end_child(filler);
	end_child(fill());
	require(!ioctl(device, KUP_PPP_REARM), "REARM");
	check_status(device, KUP_PPP_REARMED, pages_of(0) + pages_of(1));
	refused(device, KUP_PPP_BIND, &bind, EBUSY, "BIND after REARM");
	require(!ioctl(device, KUP_PPP_REARM), "a second REARM");
	unload_refused(device);
	jump(address, nonce);
}

/* Bound and released, and at once recorded for the next kernel. */
static void bind_and_go_on(uint64_t address, uint64_t nonce)
{
	struct kup_ppp_release release = {};
	struct kup_ppp_begin begin;
	pid_t tasks[TASKS], filler = fill();
	int device;

	require(!attach(address, nonce), "the table to be attached");
	device = open_device();
	make_limited_group();
	tasks[0] = start_stopped(make_first_task, nothing);
	tasks[1] = start_stopped(make_second_task, nothing);
	bind_tasks(device, tasks);
	require(!ioctl(device, KUP_PPP_RELEASE, &release), "RELEASE");
	end_child(filler);
	record_tasks(device, tasks[0], tasks[1], false, &begin);
	jump_with_table(device, &begin);
}

void new_kernel(void)
{
	uint64_t address, nonce;

	require(sscanf(word("kup_ppp.table="), "0x%" SCNx64 ",0x%" SCNx64, &address, &nonce) == 2, "kup_ppp.table");
	/* The last kernel has no next one to load. */
	if (access("/kernel", F_OK) == 0) {
		if (word("kuptest.twice"))
			bind_and_go_on(address, nonce);
		bind_and_go_back(address, nonce);
	}
	bind_and_use(address, nonce);
}
