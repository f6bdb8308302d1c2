/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "descriptors/locks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/base.h"
#include "tasks/scratch.h"

/* Of the kernel's range of a lock; it is one word of the line. */
#define LOCK_MAX 128
#define TO_THE_END "EOF"

/* Whether `list` has the element, which is `length` long. */
static bool has(const char *list, const char *element, size_t length)
{
	for (; list; list = strchr(list, ';') ? strchr(list, ';') + 1 : NULL)
		if (strcspn(list, ";") == length && !memcmp(list, element, length))
			return true;
	return false;
}

/* -1: it is no record lock, or none that this program has written. */
static int parse(const char *element, size_t length, struct flock *lock)
{
	char text[LOCK_MAX], kind[8], *last;
	uint64_t first, end;
	int place = 0;

	if (length >= sizeof(text))
		return -1;
	memcpy(text, element, length);
	text[length] = '\0';
	if (sscanf(text, "POSIX,ADVISORY,%7[A-Z],%n", kind, &place) != 1 || !place)
		return -1;
	last = strchr(text + place, ',');
	if (!last)
		return -1;
	*last++ = '\0';
	*lock = (struct flock){ .l_whence = SEEK_SET, .l_type = strcmp(kind, "READ") ? F_WRLCK : F_RDLCK };
	if (parse_number(text + place, INT64_MAX, &first))
		return -1;
	lock->l_start = (off_t)first;
	if (!strcmp(last, TO_THE_END))
		return 0;
	if (parse_number(last, INT64_MAX - 1, &end) || end < first)
		return -1;
	lock->l_len = (off_t)(end - first + 1);
	return 0;
}

/* A process whose memory has a page for the arguments. */
struct locker {
	struct injection injection;
	int64_t page;
};

static int begin(struct locker *locker, pid_t process)
{
	if (inject_begin(&locker->injection, process))
		return -1;
	if (!scratch_begin(&locker->injection, &locker->page) && locker->page > 0)
		return 0;
	locker->page = 0;
	inject_end(&locker->injection);
	return fail("Process %d cannot map a page for its locks.", process);
}

static void take_lock(struct locker *locker, int number, struct flock *lock)
{
	const uint64_t arguments[6] = { (uint64_t)number, F_SETLK, (uint64_t)locker->page };
	int64_t said;

	if (!scratch_write(&locker->injection, locker->page, lock, sizeof(*lock)))
		inject_call(&locker->injection, SYS_fcntl, arguments, &said);
}

void locks_put_right(pid_t process, int number, const char *then, const char *now)
{
	struct locker locker = { 0 };
	struct flock lock;

	/* Both are sorted; there may be thousands. */
	if (now && !strcmp(then, now))
		return;
	for (const char *next; then; then = next) {
		size_t length = strcspn(then, ";");

		next = then[length] ? then + length + 1 : NULL;
		if (has(now, then, length) || parse(then, length, &lock))
			continue;
		if (!locker.page && begin(&locker, process))
			return;
		take_lock(&locker, number, &lock);
	}
	if (locker.page) {
		scratch_end(&locker.injection, locker.page);
		inject_end(&locker.injection);
	}
}
