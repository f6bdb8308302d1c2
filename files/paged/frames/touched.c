/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frames/touched.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "images/core.h"

/* More than the frame of a signal takes, with the largest registers that there are. */
#define SIGNAL_FRAME (16 * 1024)

static void add_range(struct runs *touched, uint64_t start, uint64_t end)
{
	if (start < end && end <= ADDRESS_END)
		for (start &= -PAGE_SIZE; start < end; start += PAGE_SIZE)
			runs_add(touched, start, 1, 0);
}

/*
 * CRIU writes the thread's id and rseq. A signal that comes before the one that stops the thread pushes its frame on one of the stacks.
 */
static int add_thread(int images, uint64_t thread, struct runs *touched)
{
	uint64_t top;
	struct core core;

	if (core_read(images, thread, &core))
		return -1;
	top = core.altstack + core.altstack_size;
	add_range(touched, core.clear_tid, core.clear_tid ? core.clear_tid + 8 : 0);
	add_range(touched, core.fs_base, core.fs_base ? core.fs_base + 8 : 0);
	add_range(touched, core.rseq, core.rseq + core.rseq_size);
	add_range(touched, core.sp < SIGNAL_FRAME ? 0 : core.sp - SIGNAL_FRAME, core.sp);
	add_range(touched, core.altstack_size < SIGNAL_FRAME ? core.altstack : top - SIGNAL_FRAME, top);
	return 0;
}

int find_touched(int images, uint64_t process, struct runs *touched)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task", process);
	threads = opendir(path);
	if (!threads)
		return fail_errno("the threads of process %" PRIu64 " cannot be listed", process);
	while (!result && (errno = 0, entry = readdir(threads)))
		if (*entry->d_name != '.')
			result = add_thread(images, strtoull(entry->d_name, NULL, 10), touched);
	if (!result && errno)
		result = fail_errno("the threads of process %" PRIu64 " cannot be listed", process);
	closedir(threads);
	if (!result)
		(void)runs_sort(touched);
	return result;
}
