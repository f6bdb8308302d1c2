/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/locking.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/processes.h"
#include "tasks/scratch.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT ((uint64_t)1 << 63)

/* KiB that are locked; 0 where that cannot be read. */
static uint64_t locked(pid_t thread)
{
	static const char name[] = "\nVmLck:";
	char path[64], text[4096];
	uint64_t size = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	if (read_beginning(path, text, sizeof(text)))
		return 0;
	at = strstr(text, name);
	if (at)
		sscanf(at + strlen(name), "%" SCNu64, &size);
	return size;
}

/* Whether the page is in place, as one is that is locked at once. */
static bool is_present(pid_t thread, uint64_t address)
{
	char path[64];
	uint64_t entry = 0;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", thread);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, &entry, sizeof(entry), (off_t)(address / SCRATCH_SIZE * sizeof(entry))) == sizeof(entry) &&
	       (entry & PRESENT);
}

int locking_ask(struct injection *injection, FILE *into)
{
	uint64_t before = locked(injection->thread);
	bool grows, present;
	int64_t place;

	/* Nearly every process. */
	if (!before)
		return 0;
	if (scratch_begin(injection, &place))
		return -1;
	/* Above the limit of what it may lock. */
	if (place == -EAGAIN) {
		fprintf(into, "%d " LOCKING " %d\n", injection->thread, MCL_FUTURE);
		return 0;
	}
	if (place < 0)
		return fail("Thread %d cannot map a page: %s.", injection->thread, strerror((int)-place));
	grows = locked(injection->thread) > before;
	present = is_present(injection->thread, (uint64_t)place);
	if (scratch_end(injection, place))
		return -1;
	if (grows)
		fprintf(into, "%d " LOCKING " %d\n", injection->thread, present ? MCL_FUTURE : MCL_FUTURE | MCL_ONFAULT);
	return 0;
}
