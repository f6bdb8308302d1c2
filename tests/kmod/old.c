// SPDX-License-Identifier: GPL-3.0-or-later
/* First kernel: what RECORD refuses, a rehearsal that is dropped, and the real thing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

/* ---- what cannot be recorded ---- */

#define UNTOUCHED 0x300000000000ul
#define ONLY_READ 0x304000000000ul
#define LOCKED 0x310000000000ul
#define PINNED 0x320000000000ul
#define ODD_PAGES 4

static void make_odd_areas(void)
{
	static const uint64_t starts[] = { UNTOUCHED, LOCKED, PINNED, ONLY_READ };
	struct io_uring_params parameters = {};
	struct iovec pinned = { (void *)(PINNED + 2 * PAGE), PAGE };
	int ring;

	for (unsigned int i = 0; i < 4; i++) {
		void *at = mmap((void *)starts[i], ODD_PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		require(at == (void *)starts[i], "mmap");
		if (starts[i] != UNTOUCHED && starts[i] != ONLY_READ)
			memset(at, 1, ODD_PAGES * PAGE);
	}
	require(!*(volatile char *)(ONLY_READ + PAGE), "zeros");
	require(!mlock((void *)LOCKED, ODD_PAGES * PAGE), "mlock");
	ring = syscall(SYS_io_uring_setup, 4, &parameters);
	require(ring >= 0 && !syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &pinned, 1), "io_uring");
}

static void nothing(void)
{
}

static void begin(int device)
{
	struct kup_ppp_begin none = {};

	require(!ioctl(device, KUP_PPP_BEGIN, &none), "BEGIN");
}

/* RECORD of `pages` pages of `pid` from `start` on must fail at `failed_at`; but for EFAULT, only DROP is left then. */
static void refused_page(int device, pid_t pid, uint64_t start, uint64_t pages, int error, uint64_t failed_at, const char *what)
{
	struct kup_ppp_range range = { start, start + pages * PAGE };
	struct kup_ppp_record record = { .pid = pid, .number = 1, .ranges = (uintptr_t)&range };

	begin(device);
	refused(device, KUP_PPP_RECORD, &record, error, what);
	if (record.failed_at != failed_at) {
		say("failed %s: failed_at is %llx", what, record.failed_at);
		power_off();
	}
	if (error == EFAULT)
		require(record.failed_end > failed_at && !(record.failed_end % PAGE), "failed_end");
	else
		refused(device, KUP_PPP_RECORD, &record, EBUSY, "RECORD after one that failed");
	refused(device, KUP_PPP_LAYOUT, NULL, error == EFAULT ? ENODATA : EBUSY, "LAYOUT after a RECORD that failed");
	require(!ioctl(device, KUP_PPP_DROP), "DROP");
}

static void refused_fields(int device, pid_t pid)
{
	struct kup_ppp_range ranges[2] = { { areas[0].start, areas[0].start + PAGE }, { areas[0].start, areas[0].start + PAGE } };
	const struct kup_ppp_record right = { .pid = pid, .number = 1, .ranges = (uintptr_t)ranges };
	struct kup_ppp_record record;

	begin(device);
	refused(device, KUP_PPP_LAYOUT, NULL, ENODATA, "LAYOUT of nothing");
	record = right, record.number = 0;
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "no range");
	record = right, record.number = KUP_PPP_RANGES_MAX + 1;
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "too many ranges");
	record = right, record.number = 2;
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "ranges that do not ascend");
	record = right, record.flags = 2;
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "an unknown flag");
	record = right, record.ranges = 1;
	refused(device, KUP_PPP_RECORD, &record, EFAULT, "ranges at no address");
	record = right, record.pid = 32000;
	refused(device, KUP_PPP_RECORD, &record, ESRCH, "no such process");
	record = right, record.pid = getpid();
	refused(device, KUP_PPP_RECORD, &record, EAGAIN, "a process that runs");
	ranges[0].start++;
	refused(device, KUP_PPP_RECORD, memcpy(&record, &right, sizeof(record)), EINVAL, "an address within a page");
	ranges[0] = (struct kup_ppp_range){ PAGE, PAGE };
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "an empty range");
	ranges[0] = (struct kup_ppp_range){ PAGE, ~0ull & -PAGE };
	refused(device, KUP_PPP_RECORD, &record, EINVAL, "a range that ends in the kernel");
	refused(device, KUP_PPP_RECORD, NULL, EFAULT, "no argument");
	require(!ioctl(device, KUP_PPP_DROP), "DROP");
}

static void refused_order(int device)
{
	struct kup_ppp_begin begin = { .number = KUP_PPP_KEEP_OUT_MAX + 1 };
	struct kup_ppp_bind bind = { .parts = 1 };
	struct kup_ppp_release release = {};
	struct kup_ppp_record record = {};

	refused(device, KUP_PPP_BEGIN, &begin, EINVAL, "too many keep_out");
	begin = (struct kup_ppp_begin){ .number = 1, .keep_out = { { 1, PAGE } } };
	refused(device, KUP_PPP_BEGIN, &begin, EINVAL, "keep_out within a page");
	refused(device, KUP_PPP_RECORD, &record, EBUSY, "RECORD before BEGIN");
	refused(device, KUP_PPP_LAYOUT, NULL, EBUSY, "LAYOUT before BEGIN");
	refused(device, KUP_PPP_DROP, NULL, EBUSY, "DROP before BEGIN");
	refused(device, KUP_PPP_BIND, &bind, EBUSY, "BIND without a table");
	refused(device, KUP_PPP_RELEASE, &release, EBUSY, "RELEASE without a table");
	refused(device, KUP_PPP_REARM, NULL, EBUSY, "REARM without a table");
	refused(device, KUP_PPP_SEAL, NULL, EBUSY, "SEAL without a table");
	refused(device, _IO('K', 0x5f), NULL, ENOTTY, "a call that there is not");
}

/* Who is not root has neither the file nor the calls. */
static void refused_user(int device)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		struct kup_ppp_status state;

		require(!setuid(65534), "setuid");
		if (open("/dev/kup_ppp", O_RDWR) >= 0 || errno != EACCES)
			_exit(1);
		_exit(!ioctl(device, KUP_PPP_STATUS, &state) || errno != EPERM);
	}
	require(waitpid(child, &status, 0) == child && !status, "another user to be refused");
}

static void refusals(int device)
{
	pid_t odd = start_stopped(make_odd_areas, nothing);

	refused_user(device);
	refused_order(device);
	refused_fields(device, odd);
	refused_page(device, odd, UNTOUCHED, ODD_PAGES, ENODATA, UNTOUCHED, "pages that do not exist");
	refused_page(device, odd, ONLY_READ + PAGE, 1, EFAULT, ONLY_READ + PAGE, "the zero page");
	refused_page(device, odd, LOCKED, ODD_PAGES, EFAULT, LOCKED, "locked memory");
	refused_page(device, odd, PINNED, ODD_PAGES, EBUSY, PINNED + 2 * PAGE, "a page that is pinned");
	refused_page(device, odd, PINNED, ODD_PAGES + 1, EBUSY, PINNED + 2 * PAGE, "a page that is pinned, before a hole");
	refused_page(device, odd, (uintptr_t)nothing & -PAGE, 1, EFAULT, (uintptr_t)nothing & -PAGE, "a file's memory");
	refused_page(device, odd, 0x330000000000, 1, EFAULT, 0x330000000000, "no memory at all");
	end_child(odd);
	say("refusals done");
}

/* ---- what is recorded ---- */

static void fill_and_fork(void)
{
	uint64_t swapped;
	pid_t second;
	FILE *file;

	join_group();
	swapped = make_filled_areas();
	/* The second task is a child, with which all stays shared copy-on-write. */
	second = fork();
	require(second >= 0, "fork");
	if (!second)
		for (;;)
			raise(SIGSTOP);
	file = fopen("/second", "w");
	require(file && fprintf(file, "second %d\nswapped %llu\n", second, (unsigned long long)swapped) > 0 && !fclose(file),
		"/second");
	require(waitpid(second, NULL, WUNTRACED) == second, "the second task to stop");
}

static uint64_t frame_of(pid_t pid, uint64_t address)
{
	uint64_t entry = 0;
	char path[64];
	int pagemap;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	require(pread(pagemap, &entry, 8, address / PAGE * 8) == 8 && entry >> 63, "pagemap");
	close(pagemap);
	return entry & ((1ull << 55) - 1);
}

static void keep_out(struct kup_ppp_begin *begin, uint64_t frame)
{
	uint64_t start = (frame & -16ull) * PAGE;

	begin->keep_out[begin->number++] = (struct kup_ppp_range){ start, start + 16 * PAGE };
}

static uint64_t record(int device, pid_t pid, int task)
{
	static struct kup_ppp_range ranges[RANGES];
	struct kup_ppp_record record = { .pid = pid, .task = task, .number = ranges_of(task, ranges), .ranges = (uintptr_t)ranges };

	if (ioctl(device, KUP_PPP_RECORD, &record)) {
		say("log record of task %d failed at %llx", task, record.failed_at);
		fail("RECORD");
	}
	require(record.pages == pages_of(task), "all pages to be recorded");
	return record.fetched;
}

uint64_t record_tasks(int device, pid_t one, pid_t two, bool shared, struct kup_ppp_begin *begin)
{
	struct kup_ppp_range range = { areas[0].start, areas[0].start + PAGE };
	struct kup_ppp_record late = { .pid = one, .task = 0, .number = 1, .ranges = (uintptr_t)&range };
	uint64_t start, end, fetched;
	double begun, recorded;

	window(&start, &end);
	*begin = (struct kup_ppp_begin){ .number = 1 };
	begin->keep_out[0] = (struct kup_ppp_range){ start, end };
	/* Pages of one task, and of both, that must be moved, wherever the window is. */
	keep_out(begin, frame_of(one, areas[0].start + 100 * PAGE));
	keep_out(begin, frame_of(one, areas[4].start + 5 * PAGE));
	require(!ioctl(device, KUP_PPP_BEGIN, begin), "BEGIN");
	refused(device, KUP_PPP_BEGIN, begin, EBUSY, "a second BEGIN");
	begun = seconds();
	fetched = record(device, one, 0);
	record(device, two, 1);
	refused(device, KUP_PPP_RECORD, &late, EINVAL, "a task out of order");
	late = (struct kup_ppp_record){
		.pid = one, .task = 2, .number = 1, .flags = KUP_PPP_RECORD_EXCLUSIVE, .ranges = (uintptr_t)&range
	};
	range = (struct kup_ppp_range){ areas[4].start, areas[4].start + PAGE };
	if (shared) {
		refused(device, KUP_PPP_RECORD, &late, EFAULT, "a page that is shared copy-on-write");
		require(late.failed_end > range.start && !late.pages, "failed_end behind the page");
	}
	recorded = seconds();
	require(!ioctl(device, KUP_PPP_LAYOUT), "LAYOUT");
	say("record_ms %.1f", 1000 * (recorded - begun));
	say("layout_ms %.1f", 1000 * (seconds() - recorded));
	refused(device, KUP_PPP_LAYOUT, NULL, EBUSY, "a second LAYOUT");
	return fetched;
}

void jump_with_table(int device, const struct kup_ppp_begin *begin)
{
	struct kup_ppp_status status;

	device = unload_refused(device);
	require(!ioctl(device, KUP_PPP_STATUS, &status) && status.state == KUP_PPP_LAID_OUT, "STATUS");
	say("frames %llu", status.frames);
	say("runs %llu", status.runs);
	say("own %llu", status.own);
	say("moved %llu", status.moved);
	jump(begin->address, begin->nonce);
}

/* What is swapped out stays in the swap cache, and charged, until somebody wants the memory. As much as there is, or less: EAGAIN. */
static void reclaim(void)
{
	int file = open(GROUP "memory.reclaim", O_WRONLY | O_CLOEXEC);

	require(file >= 0 && (write(file, "2M", 2) == 2 || errno == EAGAIN), "memory.reclaim");
	close(file);
}

/* Start both tasks and record them; returns the first, and the second in *two. */
static pid_t start_and_record(int device, pid_t *two, struct kup_ppp_begin *begin)
{
	char limit[32];
	long charged;
	pid_t one;

	write_file(GROUP "memory.max", "max");
	one = start_stopped(fill_and_fork, nothing);
	*two = number_in("/second", "second %ld");
	say("swapped %ld", number_in("/second", "swapped %ld"));
	reclaim();
	/* No page more fits: what is swapped out has to come in above the limit, and nobody may be ended for it. */
	charged = number_in(GROUP "memory.current", "%ld");
	snprintf(limit, sizeof(limit), "%ld", charged);
	write_file(GROUP "memory.max", limit);
	say("fetched %llu", (unsigned long long)record_tasks(device, one, *two, true, begin));
	say("above_kb %ld", (number_in(GROUP "memory.current", "%ld") - charged) / 1024);
	say("oom_recording %ld", number_in(GROUP "memory.events", "oom %ld"));
	return one;
}

/* What the kernel's caches, those of the memory cgroup and of swap among them, may have grown by: a tenth of what was recorded. */
#define LOST_KB 5000

/* Record, and drop it all: every page must come back when the tasks end. */
static void rehearse(int device)
{
	long before = number_in("/proc/meminfo", "MemAvailable: %ld"), lost = 0;
	struct kup_ppp_begin begin;
	pid_t two, one = start_and_record(device, &two, &begin);

	require(!ioctl(device, KUP_PPP_DROP), "DROP");
	refused(device, KUP_PPP_DROP, NULL, EBUSY, "a second DROP");
	end_child(one);
	/* The first process of the machine inherits it. */
	end_child(two);
	/* Free pages lie in the processors' own lists for a while, which do not count as available. */
	for (int i = 0; i < 30; i++) {
		lost = before - number_in("/proc/meminfo", "MemAvailable: %ld");
		if (lost < LOST_KB)
			break;
		write_file("/proc/sys/vm/compact_memory", "1");
		usleep(500000);
	}
	say("lost_kb %ld", lost);
}

void old_kernel(void)
{
	struct kup_ppp_begin begin;
	pid_t two;
	int device;

	require(!load_module("/kup_ppp.ko", ""), "the module to be loaded");
	device = open_device();
	make_group();
	switch_swap_on();
	refusals(device);
	/* The first time, the kernel's caches take their share. */
	rehearse(device);
	rehearse(device);
	close(device);
	require(!unload_module("kup_ppp"), "the module to be unloaded after DROP");
	require(!load_module("/kup_ppp.ko", ""), "the module to be loaded again");
	device = open_device();
	start_and_record(device, &two, &begin);
	jump_with_table(device, &begin);
}
