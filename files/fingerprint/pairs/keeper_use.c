/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pairs/keeper.h"
#include "pairs/keeper_file.h"

/* The same number on all architectures; the C libraries of older systems have no name for it. */
#define NUMBER_OF_PIDFD_SEND_SIGNAL 424
/* Descriptors below are others': those of a service, and of the units' namespaces. */
#define FIRST_NUMBER 64
/* "--inherit-fd", "fd[N]:socket:[INODE]" */
#define ARGUMENT_MAX 48
#define PATIENCE 10000 /* milliseconds */

/* A copy of the end that the command inherits. -1 with errno. */
static int inherit(int process, int number)
{
	CLEANUP_FD int copy = copy_descriptor(process, number);

	return copy < 0 ? -1 : fcntl(copy, F_DUPFD, FIRST_NUMBER);
}

static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The command, and CRIU's options for the ends behind it. NULL after saying why not. */
static char **with_ends(const struct keeper_file *keeper, int process, char **command)
{
	char **words, *text;
	size_t count = 0;

	while (command[count])
		count++;
	words = take((count + 2 * keeper->count + 1) * sizeof(*words));
	memcpy(words, command, count * sizeof(*words));
	for (size_t i = 0; i < keeper->count; i++) {
		int number = inherit(process, keeper->ends[i].number);

		if (number < 0) {
			fail_errno("The end %u of a unix connection cannot be had from process %d", keeper->ends[i].inode, keeper->pid);
			return NULL;
		}
		text = take(ARGUMENT_MAX);
		snprintf(text, ARGUMENT_MAX, "fd[%d]:socket:[%u]", number, keeper->ends[i].inode);
		words[count++] = (char *)(uintptr_t)"--inherit-fd";
		words[count++] = text;
	}
	return words;
}

static char **with_ends_of(const char *file, const char *unit, char **command)
{
	struct keeper_file keeper;
	char **words = NULL;
	CLEANUP_FD int process = -1;

	if (!keeper_read(&keeper, unit, file)) {
		allow_descriptors();
		process = keeper_open(&keeper);
		if (process < 0)
			fail("Process %d, which has held the unix connections of %s, has ended.", keeper.pid, unit);
		else
			words = with_ends(&keeper, process, command);
	}
	free(keeper.ends);
	return words;
}

int keeper_join(const char *file, const char *unit, char **command)
{
	char **words = with_ends_of(file, unit, command);

	if (!words)
		return -1;
	execvp(words[0], words);
	return fail_errno("%s cannot be started", words[0]);
}

static int end_process(const struct keeper_file *keeper)
{
	CLEANUP_FD int process = keeper_open(keeper);
	struct pollfd gone = { .fd = process, .events = POLLIN };

	if (process < 0)
		return errno == ESRCH || errno == ENOENT ? 0 : fail_errno("Process %d cannot be ended", keeper->pid);
	if (syscall(NUMBER_OF_PIDFD_SEND_SIGNAL, process, SIGTERM, NULL, 0) && errno != ESRCH)
		return fail_errno("Process %d cannot be ended", keeper->pid);
	if (poll(&gone, 1, PATIENCE) == 1)
		return 0;
	syscall(NUMBER_OF_PIDFD_SEND_SIGNAL, process, SIGKILL, NULL, 0);
	return poll(&gone, 1, PATIENCE) == 1 ? 0 : fail("Process %d does not end.", keeper->pid);
}

int keeper_end(const char *file)
{
	struct keeper_file keeper;
	int result;

	if (access(file, F_OK) && errno == ENOENT)
		return 0;
	result = keeper_read(&keeper, NULL, file);
	if (!result)
		result = end_process(&keeper);
	free(keeper.ends);
	if (!result && unlink(file))
		result = fail_errno("The file %s cannot be removed", file);
	return result;
}
