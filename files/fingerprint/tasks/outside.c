/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/processes.h"

/* The most that a kernel for x86 can be built for (CONFIG_NR_CPUS_RANGE_END with MAXSMP). */
#define CPUS 8192
/* include/uapi/linux/ioprio.h */
#define IOPRIO_WHO_PROCESS 1

/* Adds a range such as "4-7", or one number, to the set. */
static int add_range(char *range, cpu_set_t *set, size_t size)
{
	char *end = range;
	const char *begin = strsep(&end, "-");
	uint64_t first, last;

	if (parse_number(begin, CPUS - 1, &first) || parse_number(end ? end : begin, CPUS - 1, &last) || first > last)
		return -1;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		CPU_SET_S(cpu, size, set);
	return 0;
}

/* VALUE: processors by their numbers, "0-3,8". Those that the machine does not have any more are left out by the kernel. */
static int set_affinity(pid_t thread, const char *value)
{
	cpu_set_t set[CPUS / CPU_SETSIZE];
	char text[4096], *rest = text;

	memset(set, 0, sizeof(set));
	if (strlen(value) >= sizeof(text))
		return fail("The processors of thread %d are more than can be read.", thread);
	strcpy(text, value);
	while (rest)
		if (add_range(strsep(&rest, ","), set, sizeof(set)))
			return fail("The processors '%s' are broken, expected numbers such as 0-3,8.", value);
	if (sched_setaffinity(thread, sizeof(set), set))
		return fail("Thread %d cannot run on the processors %s again: %s.", thread, value, strerror(errno));
	return 0;
}

/* Writes a text into a file of the thread in /proc. */
static int write_file(pid_t thread, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", thread, name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return fail("Thread %d cannot get its %s of %s back: %s.", thread, name, text, strerror(errno));
	return 0;
}

/* VALUE: bits in hexadecimal, as the file has them. */
static int set_coredump_filter(pid_t thread, const char *value)
{
	char text[16];
	size_t length = strlen(value);

	if (!length || length > 8 || strspn(value, "0123456789abcdef") != length)
		return fail("The coredump filter '%s' is broken, expected bits in hexadecimal.", value);
	snprintf(text, sizeof(text), "0x%s", value);
	return write_file(thread, "coredump_filter", text);
}

/* VALUE: class and level in one number (ioprio_get(2)), in decimal. */
static int set_io_priority(pid_t thread, const char *value)
{
	uint64_t priority;

	if (parse_number(value, UINT16_MAX, &priority))
		return fail("The I/O priority '%s' is broken, expected a number.", value);
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, thread, (int)priority))
		return fail("Thread %d cannot get its I/O priority back: %s.", thread, strerror(errno));
	return 0;
}

/* VALUE: nanoseconds, in decimal. */
static int set_timer_slack(pid_t thread, const char *value)
{
	uint64_t slack;

	if (parse_number(value, INT64_MAX, &slack))
		return fail("The timer slack '%s' is broken, expected nanoseconds.", value);
	return write_file(thread, "timerslack_ns", value);
}

static const struct {
	const char *name;
	int (*set)(pid_t thread, const char *value);
} known[] = {
	{ "affinity", set_affinity },
	{ "coredump-filter", set_coredump_filter },
	{ "io-priority", set_io_priority },
	{ "timer-slack", set_timer_slack },
};

#define KNOWN (sizeof(known) / sizeof(*known))

bool outside_knows(const char *name)
{
	for (size_t i = 0; name && i < KNOWN; i++)
		if (!strcmp(name, known[i].name))
			return true;
	return false;
}

int outside_set(pid_t thread, const char *name, const char *value)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (!strcmp(name, known[i].name))
			return known[i].set(thread, value);
	return fail("The attribute '%s' is not known.", name);
}
