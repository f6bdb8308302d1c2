/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "kept_tasks.h"
#include "sum.h"

/* Linux 6.6; older headers do not have it. */
#ifndef UFFDIO_POISON
struct uffdio_poison {
	struct uffdio_range range;
	__u64 mode;
	__s64 updated;
};
#define UFFDIO_POISON _IOWR(UFFDIO, 0x08, struct uffdio_poison)
#endif

/* As much as the kernel maps around a fault in a file (mm/memory.c, fault_around_bytes). */
#define AROUND ((uint64_t)64 << 10)

void installer_init(struct installer *installer)
{
	*installer = (struct installer){ .device = -1, .sums = take(CHUNK_MAX * sizeof(uint64_t)) };
	if (posix_memalign((void **)&installer->pages, PAGE_SIZE, CHUNK_MAX * PAGE_SIZE)) {
		fail("no memory for a chunk of pages");
		abort();
	}
}

void installer_free(struct installer *installer)
{
	close_fd(&installer->device);
	free(installer->pages);
	free(installer->sums);
}

void task_free(struct task *task)
{
	close_fd(&task->uffd);
	regions_free(&task->regions);
	free(task->waiting);
	task->waiting = NULL;
	task->waiting_count = task->waiting_room = 0;
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

static int wake(const struct task *task, uint64_t address, uint64_t size)
{
	struct uffdio_range range = { .start = address, .len = size };

	return ioctl(task->uffd, UFFDIO_WAKE, &range);
}

int task_wake_all(const struct task *task)
{
	/* vm.mmap_min_addr may be lower: where it is, nothing is mapped there in practice. The ends: five and four levels. */
	const uint64_t low = 65536, ends[] = { (uint64_t)1 << 56, (uint64_t)1 << 47 };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!wake(task, low, ends[i] - PAGE_SIZE - low))
			return 0;
	return -1;
}

/* One of the numbers in /proc/PID/stat (proc_pid_stat(5)), or 0. */
static uint64_t process_field(int32_t pid, int wanted)
{
	char path[64], text[1024], *at;
	unsigned long long value = 0;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = 0;
	/* The name in field 2 may hold anything, so count from its end. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", &value) == 1 ? value : 0;
}

uint64_t process_start_time(int32_t pid)
{
	return process_field(pid, 22);
}

int32_t process_parent(int32_t pid)
{
	return (int32_t)process_field(pid, 4);
}

void task_kill(const struct task *task)
{
	CLEANUP_FD int pidfd = task->pid > 0 ? (int)syscall(SYS_pidfd_open, task->pid, 0) : -1;

	/* The descriptor first, then the check: so it is the same process that is checked and hit. */
	if (pidfd < 0 || !task->start_time || process_start_time(task->pid) != task->start_time)
		return;
	fail("process %d is killed, because it cannot get the pages of its snapshot", task->pid);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/*
 * A page that cannot be had must not read as zeros. Where the kernel can mark it as poisoned, who touches it gets
 * SIGBUS; else the process ends here.
 */
static enum outcome lose(struct installer *installer, struct task *task, uint64_t address, uint64_t source, const char *why)
{
	struct uffdio_poison poison = { .range = { .start = address, .len = PAGE_SIZE } };
	bool poisoned;

	/* First in the journal: to a successor the page that was marked is one that is there. */
	++*installer->lost;
	poisoned = !ioctl(task->uffd, UFFDIO_POISON, &poison);
	if (!poisoned && (errno == EAGAIN || errno == ESRCH || errno == EEXIST))
		--*installer->lost;
	if (!poisoned && errno == EAGAIN)
		return BLOCKED;
	if (!poisoned && errno == ESRCH)
		return GONE;
	if (!poisoned && errno == EEXIST) {
		/* It is there already: nothing is lost. */
		(void)wake(task, address, PAGE_SIZE);
		return INSTALLED;
	}
	fail("the page 0x%" PRIx64 " of task %" PRIu64 " cannot be served, it %s: %s", source, task->image->id, why,
	     poisoned ? "who touches it gets SIGBUS" : "the process is ended");
	if (!poisoned)
		task_kill(task);
	return LOST;
}

/* Reads and checks a page's content; NULL, or what is wrong with it. */
static const char *check(const struct installer *installer, uint64_t index, uint64_t source)
{
	if (!installer->sums[index])
		return "is not in the store";
	if (!sum_matches(installer->sums[index], installer->pages + index * PAGE_SIZE, source))
		return "is not what was stored";
	return NULL;
}

static bool load(struct installer *installer, struct task *task, uint64_t source, uint64_t pages)
{
	return !object_read_sums(&task->image->files, source, installer->sums, pages) &&
	       !object_read(&task->image->files, source, installer->pages, pages);
}

/* One UFFDIO_COPY out of the buffer: the number of pages installed, or -errno. */
static int64_t copy(const struct installer *installer, struct task *task, uint64_t address, uint64_t index, uint64_t pages)
{
	struct uffdio_copy request = {
		.dst = address,
		.src = (uint64_t)(uintptr_t)(installer->pages + index * PAGE_SIZE),
		.len = pages * PAGE_SIZE,
	};

	if (!ioctl(task->uffd, UFFDIO_COPY, &request))
		return (int64_t)pages;
	/* Stopped on the way, which the kernel reports as EAGAIN. */
	if (request.copy >= (int64_t)PAGE_SIZE)
		return request.copy / (int64_t)PAGE_SIZE;
	return -errno;
}

/*
 * One KUP_PPP_FILL, as copy(). The frames go to the process that they were taken from; one that it has forked since gets copies.
 * The kernel module wakes nobody.
 */
static int64_t fill(const struct installer *installer, struct task *task, uint64_t address, uint64_t source, uint64_t pages)
{
	struct kup_ppp_fill request = {
		.userfaultfd = task->uffd,
		.task = KEPT_LAZY(task->image->kept),
		.pages = (uint32_t)(pages < KUP_PPP_FILL_MAX ? pages : KUP_PPP_FILL_MAX),
		.flags = task->root == task->number ? 0 : KUP_PPP_FILL_COPY,
		.source = source,
		.address = address,
	};
	int error = ioctl(installer->device, KUP_PPP_FILL, &request) ? errno : 0;

	if (!request.filled)
		return -(error ? error : EIO);
	(void)wake(task, address, request.filled * PAGE_SIZE);
	return (int64_t)request.filled;
}

/*
 * No registered area is at the address. That may be because it has just moved and the event that says so is still to
 * be read; only if no event is pending is it true, since a move is not over before we have read its event.
 */
static enum outcome absent(struct installer *installer, struct task *task, struct region *region, uint64_t address)
{
	if (task_unsettled(task) || !installer->restored)
		return BLOCKED;
	regions_set_installed(&task->regions, region->bit + (address - region->start) / PAGE_SIZE);
	(void)wake(task, address, PAGE_SIZE);
	return INSTALLED;
}

/* Installs pages [from, to) of the buffer; the buffer begins at this address of the region. */
static enum outcome install(struct installer *installer, struct task *task, struct region *region, uint64_t address,
			    uint64_t from, uint64_t to)
{
	uint64_t first_bit = region->bit + (address - region->start) / PAGE_SIZE, step = to - from;
	enum outcome outcome, result = INSTALLED;

	while (from < to) {
		uint64_t at = address + from * PAGE_SIZE;
		uint64_t source = region->source + (at - region->start), some = step < to - from ? step : to - from;
		int64_t done = installer->device < 0 ? copy(installer, task, at, from, some) :
						       fill(installer, task, at, source, some);

		if (done > 0) {
			for (int64_t i = 0; i < done; i++)
				regions_set_installed(&task->regions, first_bit + from + (uint64_t)i);
			from += (uint64_t)done;
			continue;
		}
		switch (done) {
		case -EEXIST:
			/* It is there, but whoever waits for it may not have been woken. */
			regions_set_installed(&task->regions, first_bit + from++);
			(void)wake(task, at, PAGE_SIZE);
			break;
		case -EAGAIN:
		case -EINTR:
		case -ENOMEM:
			return BLOCKED;
		case -ESRCH:
			return GONE;
		case -ENOENT:
			/* Or the rows of pages crosses a border between areas: one by one. */
			if (step > 1) {
				step = 1;
				break;
			}
			outcome = absent(installer, task, region, at);
			if (outcome != INSTALLED)
				return outcome;
			from++;
			break;
		default:
			errno = (int)-done;
			fail_errno("the kernel does not take the page at 0x%" PRIx64, at);
			outcome = lose(installer, task, at, source, "is refused by the kernel");
			if (outcome == BLOCKED || outcome == GONE)
				return outcome;
			if (outcome == LOST)
				result = LOST;
			regions_set_installed(&task->regions, first_bit + from++);
		}
	}
	return result;
}

/* Reads, checks and installs pages that lie in one region and one segment. */
static enum outcome bring(struct installer *installer, struct task *task, struct region *region, uint64_t address,
			  uint64_t pages)
{
	uint64_t source = region->source + (address - region->start), good = 0;
	enum outcome outcome, result = INSTALLED;
	const char *why = "cannot be read";
	bool loaded;

	if (installer->device >= 0)
		return install(installer, task, region, address, 0, pages);
	loaded = load(installer, task, source, pages);

	/* Something in it cannot be read: find out what, page by page. */
	if (!loaded && pages > 1) {
		for (uint64_t i = 0; i < pages; i++) {
			outcome = bring(installer, task, region, address + i * PAGE_SIZE, 1);
			if (outcome == BLOCKED || outcome == GONE)
				return outcome;
			if (outcome == LOST)
				result = LOST;
		}
		return result;
	}
	for (uint64_t i = 0; i <= pages; i++) {
		if (i < pages && loaded && !(why = check(installer, i, source + i * PAGE_SIZE)))
			continue;
		outcome = install(installer, task, region, address, good, i);
		if (outcome == BLOCKED || outcome == GONE)
			return outcome;
		if (outcome == LOST)
			result = LOST;
		good = i + 1;
		if (i == pages)
			break;
		outcome = lose(installer, task, address + i * PAGE_SIZE, source + i * PAGE_SIZE, why);
		if (outcome == BLOCKED || outcome == GONE)
			return outcome;
		if (outcome == LOST)
			result = LOST;
		regions_set_installed(&task->regions, region->bit + (address + i * PAGE_SIZE - region->start) / PAGE_SIZE);
	}
	return result;
}

static enum outcome zero(struct task *task, uint64_t address)
{
	struct uffdio_zeropage request = { .range = { .start = address, .len = PAGE_SIZE } };

	if (!ioctl(task->uffd, UFFDIO_ZEROPAGE, &request))
		return INSTALLED;
	switch (errno) {
	case EAGAIN:
	case ENOMEM:
		return BLOCKED;
	case ESRCH:
		return GONE;
	case ENOENT:
		if (task_unsettled(task))
			return BLOCKED;
		break;
	case EEXIST:
		break;
	default:
		fail_errno("the kernel does not take a zero page at 0x%" PRIx64, address);
	}
	/* Present by now, or unmapped: the thread looks again by itself. */
	(void)wake(task, address, PAGE_SIZE);
	return INSTALLED;
}

enum outcome task_fault(struct installer *installer, struct task *task, uint64_t address)
{
	struct region *region;

	address &= ~(PAGE_SIZE - 1);
	region = regions_find(&task->regions, address);
	if (!region || region->source == SOURCE_ZEROS)
		return zero(task, address);
	/* What is around it comes next, in the background. */
	task->regions.cursor = address & -AROUND;
	return bring(installer, task, region, address, 1);
}

enum outcome task_bring_bit(struct installer *installer, struct task *task, uint64_t bit)
{
	uint64_t address;

	if (regions_installed(&task->regions, bit) || !regions_find_bit(&task->regions, bit, &address))
		return INSTALLED;
	return bring(installer, task, regions_find(&task->regions, address), address, 1);
}

enum outcome task_prefetch(struct installer *installer, struct task *task, uint64_t most)
{
	uint64_t address, pages;
	struct region *region;

	if (!regions_next(&task->regions, most < CHUNK_MAX ? most : CHUNK_MAX, &address, &pages))
		return INSTALLED;
	region = regions_find(&task->regions, address);
	pages = segment_rest(region->source + (address - region->start), pages);
	return bring(installer, task, region, address, pages);
}
