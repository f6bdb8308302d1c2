/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on all architectures; the C libraries of older systems have no names for them. */
#define NUMBER_OF_PIDFD_OPEN 434
#define NUMBER_OF_PIDFD_GETFD 438

int fail(const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fprintf(stderr, "%s\n", line);
	return -1;
}

void *take_more(void *old, size_t count, size_t size)
{
	void *taken = reallocarray(old, count ? count : 1, size);

	if (!taken) {
		fail("There is no memory for the fingerprint.");
		abort();
	}
	return taken;
}

void close_fd(int *fd)
{
	int error = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = error;
}

void free_pointer(void *pointer)
{
	free(*(void **)pointer);
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

int open_process(pid_t pid)
{
	return (int)syscall(NUMBER_OF_PIDFD_OPEN, pid, 0);
}

bool stands_still(pid_t pid)
{
	char path[64], text[512], *end;
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	/* The name in front may have any characters, parentheses among them. */
	end = strrchr(text, ')');
	return end && (!strncmp(end, ") T", 3) || !strncmp(end, ") t", 3));
}

int copy_descriptor(int process, int number)
{
	return (int)syscall(NUMBER_OF_PIDFD_GETFD, process, number, 0);
}
