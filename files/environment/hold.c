/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base.h"

/* Whoever needs the namespaces has opened them by then. */
#define LIFETIME 3600

static int leave_group(char **groups)
{
	for (; *groups; groups++) {
		CLEANUP_FD int group = open(*groups, O_WRONLY | O_CLOEXEC);

		if (group < 0 && errno == ENOENT)
			continue;
		if (group < 0 || write(group, "0", 1) != 1) {
			fail_errno("%s cannot be joined", *groups);
			return -1;
		}
		return 0;
	}
	fail("there is no other control group");
	return -1;
}

static void stay(int ready, char **groups)
{
	if (setsid() < 0 || leave_group(groups) || write(ready, "", 1) != 1)
		_exit(1);
	/* Nobody waits for the end of a stream that it has inherited. */
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	signal(SIGTERM, SIG_DFL);
	alarm(LIFETIME);
	for (;;)
		pause();
}

int hold(const char *path, char **groups)
{
	int ends[2];
	char byte;

	/* Nobody else writes there; a file that is left from an attempt before is replaced. */
	CLEANUP_FD int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (file < 0 || pipe2(ends, O_CLOEXEC)) {
		fail_errno("%s cannot be written", path);
		return -1;
	}
	CLEANUP_FD int there = ends[0];
	pid_t child = fork();

	if (!child)
		stay(ends[1], groups);
	close(ends[1]);
	if (child < 0) {
		fail_errno("no process can be started");
		return -1;
	}
	/* The end of the stream: it has failed, and said why. */
	if (read(there, &byte, 1) != 1)
		return -1;
	if (dprintf(file, "%d\n", child) < 0) {
		fail_errno("%s cannot be written", path);
		kill(child, SIGKILL);
		return -1;
	}
	return 0;
}
