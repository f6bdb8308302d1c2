/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, proc_pid_stat(5). */
#define FIELD_PARENT 4
#define FIELD_START_TIME 22

/* A number, or 0. */
static uint64_t process_field(int32_t pid, int wanted)
{
	char path[64], text[1024], *at;
	unsigned long long value = 0;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = 0;
	/* The name in field 2 may hold anything, so fields are counted from its end. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", &value) == 1 ? value : 0;
}

uint64_t process_start_time(int32_t pid)
{
	return process_field(pid, FIELD_START_TIME);
}

int32_t process_parent(int32_t pid)
{
	return (int32_t)process_field(pid, FIELD_PARENT);
}

void process_kill(int32_t pid, uint64_t start_time)
{
	CLEANUP_FD int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	/* The descriptor is opened before the check, so that the process that is checked is the one that is killed. */
	if (pidfd < 0 || !start_time || process_start_time(pid) != start_time)
		return;
	fail("process %d is killed, because it cannot get the pages of its snapshot", pid);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

bool process_shares_pid_namespace(int32_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}
