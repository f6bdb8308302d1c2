/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frames/record_task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "frames/device.h"
#include "frames/frame_tasks.h"
#include "frames/touched.h"
#include "images/mm.h"
#include "page_server/wire.h"

int recorder_open(struct recorder *recorder, int images, bool lazy)
{
	*recorder = (struct recorder){
		.device = device_open(),
		.images = images,
		.lazy = lazy,
		.buffer = take(COPY_PAGES * PAGE_SIZE),
		.ranges = take(KUP_PPP_RANGES_MAX * sizeof(*recorder->ranges)),
	};
	return recorder->device < 0 ? -1 : 0;
}

void recorder_close(struct recorder *recorder)
{
	close_fd(&recorder->device);
	free(recorder->buffer);
	free(recorder->ranges);
}

static int refused(uint64_t process, uint64_t address)
{
	if (errno == EBUSY)
		return fail("process %" PRIu64 " has a page at 0x%" PRIx64
			    " that a device may be writing to (direct I/O, io_uring, RDMA), expected none; use the engine foam",
			    process, address);
	return fail_errno("the page of process %" PRIu64 " at 0x%" PRIx64 " cannot be kept", process, address);
}

/* The ranges from the cursor on, as many as one call takes. */
static uint32_t collect(struct runs_cursor cursor, struct kup_ppp_range *ranges)
{
	uint32_t number = 0;
	struct run run;

	while (number < KUP_PPP_RANGES_MAX && runs_rest(&cursor, &run)) {
		ranges[number++] = (struct kup_ppp_range){ .start = run.address, .end = run_end(&run) };
		runs_pass(&cursor, run_end(&run), NULL);
	}
	return number;
}

/* Hands `plain` to the kernel module under the name `task`. Memory of another kind is appended to `rest`. */
static int record(const struct recorder *recorder, uint64_t process, uint32_t task, uint32_t flags, const struct runs *plain,
		  struct runs *rest, struct recorded *recorded)
{
	struct runs_cursor cursor = { .runs = plain };
	uint32_t number;

	while ((number = collect(cursor, recorder->ranges))) {
		struct kup_ppp_record call = { .pid = (int32_t)process,
					       .task = task,
					       .flags = flags,
					       .number = number,
					       .ranges = (uintptr_t)recorder->ranges };
		int error = ioctl(recorder->device, KUP_PPP_RECORD, &call);

		recorded->pages += call.pages;
		recorded->fetched += call.fetched;
		if (!error) {
			runs_pass(&cursor, recorder->ranges[number - 1].end, NULL);
			continue;
		}
		if (errno != EFAULT || call.failed_end <= call.failed_at)
			return refused(process, call.failed_at);
		runs_pass(&cursor, call.failed_at, NULL);
		runs_pass(&cursor, call.failed_end, rest);
	}
	return 0;
}

/* Records those of `plain` that nobody shares, and appends them to `lazy`; the others are appended to `shared`. */
static int record_lazy(const struct recorder *recorder, uint64_t process, uint32_t number, const struct runs *plain,
		       struct runs *shared, struct runs *lazy, struct recorded *recorded)
{
	CLEANUP_RUNS struct runs inside = { 0 };
	int result = record(recorder, process, FRAMES_LAZY(number), KUP_PPP_RECORD_EXCLUSIVE, plain, shared, recorded);

	runs_divide(plain, shared, &inside, lazy);
	recorded->lazy = recorded->pages;
	return result;
}

/* Appends the content of these pages to the process's pages image. */
static int copy_content(const struct recorder *recorder, uint64_t process, int content, const struct runs *pages,
			struct recorded *recorded)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/mem", process);
	CLEANUP_FD int memory = open(path, O_RDONLY | O_CLOEXEC);

	if (memory < 0)
		return fail_errno("the memory of process %" PRIu64 " cannot be read", process);
	for (size_t i = 0; i < pages->count; i++)
		for (uint64_t done = 0, count; done < pages->list[i].pages; done += count) {
			uint64_t left = pages->list[i].pages - done, address = pages->list[i].address + done * PAGE_SIZE;

			count = left < COPY_PAGES ? left : COPY_PAGES;
			if (read_all_at(memory, recorder->buffer, count * PAGE_SIZE, (off_t)address))
				return fail_errno("the memory of process %" PRIu64 " at 0x%" PRIx64 " cannot be read", process,
						  address);
			if (write_all(content, recorder->buffer, count * PAGE_SIZE))
				return fail_errno("the pages image of process %" PRIu64 " cannot be written", process);
			recorded->copied += count;
		}
	return 0;
}

int record_task(const struct recorder *recorder, uint64_t process, uint32_t number, int content, struct runs *runs,
		struct recorded *recorded)
{
	CLEANUP_RUNS struct runs areas = { 0 }, touched = { 0 }, private = { 0 }, plain = { 0 }, shared = { 0 }, lazy = { 0 },
				 image = { 0 };

	*recorded = (struct recorded){ 0 };
	if (mm_read(recorder->images, process, &areas) || find_touched(recorder->images, process, &touched))
		return -1;
	/* Not only what the module would refuse: the vdso of the kernel before is ordinary memory, and CRIU needs it early. */
	runs_divide(runs, &areas, &private, &image);
	runs_divide(&private, &touched, &image, &plain);
	if (recorder->lazy && record_lazy(recorder, process, number, &plain, &shared, &lazy, recorded))
		return -1;
	if (record(recorder, process, FRAMES_EAGER(number), 0, recorder->lazy ? &shared : &plain, &image, recorded))
		return -1;
	if (runs_sort(&image))
		return fail("pages of process %" PRIu64 " would be in its images twice", process);
	if (copy_content(recorder, process, content, &image, recorded))
		return -1;
	runs_append(&image, &lazy, PE_LAZY);
	if (runs_sort(&image))
		return fail("pages of process %" PRIu64 " would be in its images and in memory", process);
	runs_free(runs);
	*runs = image;
	image = (struct runs){ 0 };
	return 0;
}
