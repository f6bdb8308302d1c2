/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on all architectures; the C libraries of older systems have no names for them. */
#define NUMBER_OF_PIDFD_OPEN 434
#define NUMBER_OF_PIDFD_GETFD 438
/* PF_EXITING, include/linux/sched.h: set before the memory of the thread is given up. */
#define EXITING 0x4

int open_process(pid_t pid)
{
	return (int)syscall(NUMBER_OF_PIDFD_OPEN, pid, 0);
}

int read_beginning(const char *path, char *text, size_t size)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	return got < 0 ? -1 : 0;
}

/* What proc_pid_stat(5) has behind the name, from the state on; NULL: the thread is gone. The name may have any characters. */
static const char *behind_name(pid_t thread, char *text, size_t size)
{
	char path[64], *end;

	/* That of the process would add up the times of all its threads. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", thread, thread);
	if (read_beginning(path, text, size))
		return NULL;
	end = strrchr(text, ')');
	return end && end[1] ? end + 2 : NULL;
}

char state_of(pid_t thread)
{
	char text[512];
	const char *state = behind_name(thread, text, sizeof(text));

	return state ? *state : '\0';
}

bool has_ended(pid_t thread)
{
	char text[512], state;
	const char *found = behind_name(thread, text, sizeof(text));
	unsigned int flags;

	/* Behind the state: parent, group, session, terminal and its group. */
	if (!found || sscanf(found, "%c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return true;
	return state == 'Z' || state == 'X' || (flags & EXITING);
}

bool stands_still(pid_t pid)
{
	char state = state_of(pid);

	return state == 'T' || state == 't';
}

int copy_descriptor(int process, int number)
{
	return (int)syscall(NUMBER_OF_PIDFD_GETFD, process, number, 0);
}

int copy_of(struct process_handle *handle, pid_t pid, int number)
{
	if (handle->pid != pid) {
		close_fd(&handle->process);
		handle->process = open_process(pid);
		handle->pid = pid;
	}
	return copy_descriptor(handle->process, number);
}

uint64_t socket_inode(int directory, const char *name)
{
	char target[64];
	ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);
	uint64_t inode;

	if (length < 9 || memcmp(target, "socket:[", 8))
		return 0;
	target[length - 1] = '\0';
	return parse_number(target + 8, UINT64_MAX, &inode) ? 0 : inode;
}
