/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void say(const char *format, va_list arguments, const char *reason)
{
	char line[1024];
	int length = vsnprintf(line, sizeof(line) - 1, format, arguments);

	if (length < 0)
		return;
	if ((size_t)length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	if (reason)
		length += snprintf(line + length, sizeof(line) - 1 - (size_t)length, ": %s", reason);
	if ((size_t)length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length++] = '\n';
	/* One write, so that lines of several processes stay whole. */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

int fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments, NULL);
	va_end(arguments);
	return -1;
}

int fail_errno(const char *format, ...)
{
	const char *reason = strerror(errno);
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments, reason);
	va_end(arguments);
	return -1;
}

void note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments, NULL);
	va_end(arguments);
}

void *take(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory) {
		fail("no memory for %zu bytes of bookkeeping", size);
		abort();
	}
	return memory;
}

void *take_more(void *old, size_t count, size_t size)
{
	void *memory = reallocarray(old, count ? count : 1, size);

	if (!memory) {
		fail("no memory for %zu times %zu bytes of bookkeeping", count, size);
		abort();
	}
	return memory;
}

int parse_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *end || errno || *number > max ? -1 : 0;
}

double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int read_all_at(int fd, void *buffer, size_t size, off_t offset)
{
	char *at = buffer;

	while (size) {
		ssize_t got = pread(fd, at, size, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0) {
			errno = EIO;
			return -1;
		}
		at += got;
		offset += got;
		size -= (size_t)got;
	}
	return 0;
}

int write_all_at(int fd, const void *buffer, size_t size, off_t offset)
{
	const char *at = buffer;

	while (size) {
		ssize_t put = pwrite(fd, at, size, offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		at += put;
		offset += put;
		size -= (size_t)put;
	}
	return 0;
}

int wait_for_disk(int fd)
{
	return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

int write_all(int fd, const void *buffer, size_t size)
{
	const char *at = buffer;

	while (size) {
		ssize_t put = write(fd, at, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

int open_resolved(int directory, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve };

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

int open_private_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return fail_errno("the directory %s cannot be opened", path);
	if (fstat(fd, &status) || (status.st_uid != 0 && status.st_uid != geteuid()) || (status.st_mode & 077)) {
		fail("the directory %s has mode %03o and owner %u, expected 700 and root, because it holds other programs' memory",
		     path, status.st_mode & 0777, status.st_uid);
		close(fd);
		return -1;
	}
	return fd;
}

int replace_file(int directory, const char *name, const void *bytes, size_t size)
{
	char draft[256];

	if (snprintf(draft, sizeof(draft), "%s.new", name) >= (int)sizeof(draft)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	CLEANUP_FD int fd = openat(directory, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write_all(fd, bytes, size) || fsync(fd))
		return -1;
	return renameat(directory, draft, directory, name) || fsync(directory) ? -1 : 0;
}

void close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}
