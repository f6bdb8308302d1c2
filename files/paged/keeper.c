/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "keeper.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal.h"
#include "notify.h"

/*
 * What systemd has not taken by then is lost with its sender, and in a boot that restores it may be busy for long. A service
 * may take 90 s to end.
 */
#define BARRIER_MILLISECONDS 60000

void descriptor_name(char name[DESCRIPTOR_NAME_SIZE], uint32_t task)
{
	snprintf(name, DESCRIPTOR_NAME_SIZE, "uffd-%" PRIu32, task);
}

static bool is_userfaultfd(int fd)
{
	char path[64], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return false;
	target[size] = 0;
	return !strcmp(target, "anon_inode:[userfaultfd]");
}

static bool ended(const struct journal *journal, uint32_t task)
{
	for (uint64_t i = 0; i < journal->next; i++)
		if (journal->slots[i].kind == SLOT_DONE && journal->slots[i].task == task)
			return true;
	return false;
}

/* accept(2) leaves no trace in the journal, but an accepted socket has the path of the listening one. */
static bool is_connection(int fd, const char *path)
{
	struct sockaddr_un address = { 0 };
	socklen_t size = sizeof(address) - 1;
	int listening = 0;
	socklen_t option_size = sizeof(listening);

	return !getsockname(fd, (struct sockaddr *)&address, &size) && address.sun_family == AF_UNIX &&
	       !strcmp(address.sun_path, path) &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &option_size) && !listening;
}

static void hand_over_connection(const char *path)
{
	DIR *listing = opendir("/proc/self/fd");
	struct dirent *entry;

	while (listing && (entry = readdir(listing))) {
		int fd = atoi(entry->d_name);

		if (is_connection(fd, path))
			(void)notify_store(fd, CONNECTION_NAME);
	}
	if (listing)
		closedir(listing);
}

/* The manager ignores a descriptor that it has already. Those from before the last start it has: they came from it. */
static void hand_over(const char *path)
{
	struct journal journal;
	char name[DESCRIPTOR_NAME_SIZE];
	uint64_t start = 0;
	uint32_t task;

	if (journal_open(&journal, path))
		return;
	for (uint64_t i = 0; i < journal.next; i++)
		if (journal.slots[i].kind == SLOT_START)
			start = i;
	task = (uint32_t)journal.header->task_count;
	for (uint64_t i = 0; i < journal.next; i++) {
		int fd = slot_descriptor(&journal.slots[i]);

		if (fd < 0)
			continue;
		if (i > start && is_userfaultfd(fd) && !ended(&journal, task)) {
			descriptor_name(name, task);
			(void)notify_store(fd, name);
		}
		task++;
	}
	if (notify_barrier(BARRIER_MILLISECONDS))
		fail("the service manager has not confirmed the descriptors in time");
}

static void keep(int parent, const char *journal, const char *socket_path)
{
	struct pollfd wait = { .fd = parent, .events = POLLIN };
	sigset_t all;

	/* The service manager's SIGTERM to the rest of a dead service must not come in between. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "paged-keeper");
	while (poll(&wait, 1, -1) != 1)
		;
	hand_over_connection(socket_path);
	hand_over(journal);
	_exit(0);
}

pid_t keeper_start(const char *journal, const char *socket_path)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t keeper;

	if (self < 0)
		return fail_errno("no descriptor of this process for the keeper");
	keeper = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (keeper < 0)
		return fail_errno("the keeper cannot be started");
	if (!keeper)
		keep(self, journal, socket_path);
	return keeper;
}

void keeper_end(pid_t keeper)
{
	if (keeper <= 0)
		return;
	(void)kill(keeper, SIGKILL);
	(void)waitpid(keeper, NULL, 0);
}
