/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base.h"

/* More than the kernel prints of any. */
#define VALUE_MAX 8192

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Whether two values have the same words: the kernel separates them by tabs or blanks, and ends in a newline or not. */
static bool same(const char *a, const char *b)
{
	for (;;) {
		while (blank(*a))
			a++;
		while (blank(*b))
			b++;
		if (!*a || !*b)
			return *a == *b;
		while (*a && !blank(*a))
			if (*a++ != *b++)
				return false;
		if (*b && !blank(*b))
			return false;
	}
}

/* -1 with errno, also where the value is too long. */
static int read_value(int directory, const char *name, char *value)
{
	CLEANUP_FD int fd = open_beneath(directory, name, O_RDONLY);
	size_t length = 0;
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	while (length < VALUE_MAX - 1 && (got = read(fd, value + length, VALUE_MAX - 1 - length)) > 0)
		length += (size_t)got;
	value[length] = '\0';
	if (got > 0)
		errno = EFBIG;
	return got ? -1 : 0;
}

int sysctl_apply(const struct place *place, const struct step *step)
{
	const struct word *wanted = &step->words[0];
	CLEANUP_FD int directory = openat(place->root, "proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char value[VALUE_MAX], line[VALUE_MAX + 1];

	if (directory < 0)
		return -1;
	if (wanted->length >= VALUE_MAX) {
		errno = EFBIG;
		return -1;
	}
	if (read_value(directory, step->object, value))
		return -1;
	if (same(value, wanted->text))
		return 0;
	CLEANUP_FD int fd = open_beneath(directory, step->object, O_WRONLY);

	/* In one write, because each one is a value of its own; and with its newline, because an empty value would be no write at all. */
	int length = snprintf(line, sizeof(line), "%s\n", wanted->text);

	if (fd < 0 || write(fd, line, (size_t)length) != length)
		return -1;
	if (!read_value(directory, step->object, value) && !same(value, wanted->text)) {
		errno = ERANGE;
		return -1;
	}
	return 0;
}
