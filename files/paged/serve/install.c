/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/install.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "frames/device.h"
#include "frames/frame_tasks.h"
#include "store/sum.h"

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

void installer_init(struct installer *installer, const enum phase *phase)
{
	*installer = (struct installer){ .device = -1, .sums = take(CHUNK_MAX * sizeof(uint64_t)), .phase = phase };
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

/* Adds the outcome of some pages to that of the pages before. Whether the next ones cannot be tried now. */
static bool stops(enum outcome outcome, enum outcome *result)
{
	if (outcome != INSTALLED)
		*result = outcome;
	return outcome == BLOCKED || outcome == GONE;
}

/*
 * A page that cannot be had must not read as zeros. Where the kernel can mark it as poisoned, a thread that touches it gets SIGBUS; else
 * the process is killed.
 */
static enum outcome lose(struct installer *installer, struct task *task, uint64_t address, uint64_t source, const char *why)
{
	struct uffdio_poison poison = { .range = { .start = address, .len = PAGE_SIZE } };
	bool poisoned;

	/* Counted in the journal first: to a successor, a page that was marked is one that is there. */
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
		(void)task_wake(task, address, PAGE_SIZE);
		return INSTALLED;
	}
	fail("the page 0x%" PRIx64 " of task %" PRIu64 " cannot be served, it %s: %s", source, task->image->id, why,
	     poisoned ? "a thread that touches it gets SIGBUS" : "the process is ended");
	if (!poisoned)
		task_kill(task);
	return LOST;
}

/* What is wrong with a page that was read, or NULL. */
static const char *complaint(const struct installer *installer, uint64_t index, uint64_t source)
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
 * One KUP_PPP_FILL, as copy(). The frames go to the process that they were taken from; a process that it has forked since gets copies.
 * The kernel module wakes nobody.
 */
static int64_t fill(const struct installer *installer, struct task *task, uint64_t address, uint64_t source, uint64_t pages)
{
	struct kup_ppp_fill request = {
		.userfaultfd = task->uffd,
		.task = FRAMES_LAZY(task->image->frame_task),
		.pages = (uint32_t)(pages < KUP_PPP_FILL_MAX ? pages : KUP_PPP_FILL_MAX),
		.flags = task->root == task->number ? 0 : KUP_PPP_FILL_COPY,
		.source = source,
		.address = address,
	};
	int error = ioctl(installer->device, KUP_PPP_FILL, &request) ? errno : 0;

	if (!request.filled)
		return -(error ? error : EIO);
	(void)task_wake(task, address, request.filled * PAGE_SIZE);
	return (int64_t)request.filled;
}

/* Pages of a region that are there, or are not needed any more. */
static void set_installed(struct task *task, const struct region *region, uint64_t address, uint64_t pages)
{
	for (uint64_t i = 0; i < pages; i++)
		regions_set_installed(&task->regions, region_bit(region, address) + i);
}

/*
 * No registered area is at the address. The area may just have moved, and the event that says so is still to be read. If no event is
 * pending it is true, since a move is not over before its event was read.
 */
static enum outcome absent(struct installer *installer, struct task *task, const struct region *region, uint64_t address)
{
	if (task_unsettled(task) || *installer->phase == PHASE_RESTORING)
		return BLOCKED;
	set_installed(task, region, address, 1);
	(void)task_wake(task, address, PAGE_SIZE);
	return INSTALLED;
}

/* The kernel has refused to install the page, with this errno. */
static enum outcome install_refused(struct installer *installer, struct task *task, const struct region *region, uint64_t address,
				    int error)
{
	enum outcome outcome;

	switch (error) {
	case EEXIST:
		/* It is there, but the thread that waits for it may not have been woken. */
		set_installed(task, region, address, 1);
		(void)task_wake(task, address, PAGE_SIZE);
		return INSTALLED;
	case EAGAIN:
	case EINTR:
	case ENOMEM:
		return BLOCKED;
	case ESRCH:
		return GONE;
	case ENOENT:
		return absent(installer, task, region, address);
	default:
		errno = error;
		fail_errno("the kernel does not take the page at 0x%" PRIx64, address);
		outcome = lose(installer, task, address, region_source(region, address), "is refused by the kernel");
		if (outcome == INSTALLED || outcome == LOST)
			set_installed(task, region, address, 1);
		return outcome;
	}
}

/* Installs pages [from, to) of the buffer, or their frames. The buffer begins at this address of the region. */
static enum outcome install(struct installer *installer, struct task *task, const struct region *region, uint64_t address,
			    uint64_t from, uint64_t to)
{
	enum outcome result = INSTALLED;
	uint64_t most = to - from;

	while (from < to) {
		uint64_t at = address + from * PAGE_SIZE, pages = most < to - from ? most : to - from;
		int64_t done = installer->device < 0 ? copy(installer, task, at, from, pages) :
						       fill(installer, task, at, region_source(region, at), pages);

		if (done > 0) {
			set_installed(task, region, at, (uint64_t)done);
			from += (uint64_t)done;
		} else if (done == -ENOENT && most > 1) {
			/* Perhaps the row of pages crosses a border between areas: one by one. */
			most = 1;
		} else if (stops(install_refused(installer, task, region, at, (int)-done), &result)) {
			return result;
		} else {
			from++;
		}
	}
	return result;
}

/* Reads, checks and installs pages that lie in one region and one segment. */
static enum outcome bring(struct installer *installer, struct task *task, const struct region *region, uint64_t address,
			  uint64_t pages)
{
	uint64_t source = region_source(region, address), good = 0;
	enum outcome result = INSTALLED;
	bool loaded;

	if (installer->device >= 0)
		return install(installer, task, region, address, 0, pages);
	loaded = load(installer, task, source, pages);
	/* Something in it cannot be read: page by page, to find out what. */
	if (!loaded && pages > 1) {
		for (uint64_t i = 0; i < pages; i++)
			if (stops(bring(installer, task, region, address + i * PAGE_SIZE, 1), &result))
				break;
		return result;
	}
	for (uint64_t i = 0; i < pages; i++) {
		uint64_t at = address + i * PAGE_SIZE;
		const char *why = loaded ? complaint(installer, i, source + i * PAGE_SIZE) : "cannot be read";

		if (!why)
			continue;
		if (stops(install(installer, task, region, address, good, i), &result) ||
		    stops(lose(installer, task, at, source + i * PAGE_SIZE, why), &result))
			return result;
		set_installed(task, region, at, 1);
		good = i + 1;
	}
	(void)stops(install(installer, task, region, address, good, pages), &result);
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
	(void)task_wake(task, address, PAGE_SIZE);
	return INSTALLED;
}

enum outcome install_fault(struct installer *installer, struct task *task, uint64_t address)
{
	struct region *region;

	address &= ~(PAGE_SIZE - 1);
	region = regions_find(&task->regions, address);
	if (!region || region->source == SOURCE_ZEROS)
		return zero(task, address);
	/* The background transfer goes on around it. */
	task->regions.cursor = address & -AROUND;
	return bring(installer, task, region, address, 1);
}

enum outcome install_bit(struct installer *installer, struct task *task, uint64_t bit)
{
	uint64_t address;

	if (regions_installed(&task->regions, bit) || !regions_find_bit(&task->regions, bit, &address))
		return INSTALLED;
	return bring(installer, task, regions_find(&task->regions, address), address, 1);
}

enum outcome install_next(struct installer *installer, struct task *task, uint64_t most)
{
	uint64_t address, pages;
	struct region *region;

	if (!regions_next(&task->regions, most < CHUNK_MAX ? most : CHUNK_MAX, &address, &pages))
		return INSTALLED;
	region = regions_find(&task->regions, address);
	pages = segment_rest(region_source(region, address), pages);
	return bring(installer, task, region, address, pages);
}
