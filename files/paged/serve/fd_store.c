/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/fd_store.h"

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

#include "serve/journal.h"
#include "serve/notify.h"

/*
 * What systemd has not taken by then is lost with its sender. In a boot that restores, systemd may be busy for long; a service may take
 * 90 s to end.
 */
#define BARRIER_MILLISECONDS 60000

void descriptor_name(char name[DESCRIPTOR_NAME_SIZE], uint32_t task)
{
	snprintf(name, DESCRIPTOR_NAME_SIZE, USERFAULTFD_PREFIX "%" PRIu32, task);
}

bool is_userfaultfd(int fd)
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

static void receive_one(int fd, const char *name, void *context)
{
	struct stored_descriptors *stored = context;
	struct stored_descriptor *descriptor;

	stored->list = take_more(stored->list, stored->count + 1, sizeof(*stored->list));
	descriptor = &stored->list[stored->count++];
	descriptor->fd = fd;
	snprintf(descriptor->name, sizeof(descriptor->name), "%s", name);
}

void fd_store_receive(struct stored_descriptors *stored)
{
	notify_received(receive_one, stored);
}

int fd_store_take(struct stored_descriptors *stored, const char *name)
{
	for (size_t i = 0; i < stored->count; i++)
		if (!strcmp(stored->list[i].name, name)) {
			int fd = stored->list[i].fd;

			stored->list[i].fd = -1;
			return fd;
		}
	return -1;
}

bool fd_store_has(const struct stored_descriptors *stored, const char *prefix)
{
	for (size_t i = 0; i < stored->count; i++)
		if (!strncmp(stored->list[i].name, prefix, strlen(prefix)))
			return true;
	return false;
}

/* ---- the guard ---- */

/* Whether the journal says that the task needs its descriptor no more. */
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
	       !strcmp(address.sun_path, path) && !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &option_size) &&
	       !listening;
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

/*
 * The service manager ignores a descriptor that it has already. It has those from before the last start: they came from it.
 */
static void hand_over_userfaultfds(const char *path)
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

static void guard(int parent, const char *journal, const char *socket_path)
{
	struct pollfd wait = { .fd = parent, .events = POLLIN };
	sigset_t all;

	/* The service manager's SIGTERM to the rest of a dead service must not come in between. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "paged-guard");
	while (poll(&wait, 1, -1) != 1)
		;
	hand_over_connection(socket_path);
	hand_over_userfaultfds(journal);
	_exit(0);
}

pid_t guard_start(const char *journal, const char *socket_path)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid;

	if (self < 0)
		return fail_errno("no descriptor of this process for the guard of its descriptors");
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return fail_errno("the guard of the descriptors cannot be started");
	if (!pid)
		guard(self, journal, socket_path);
	return pid;
}

void guard_end(pid_t guard)
{
	if (guard <= 0)
		return;
	(void)kill(guard, SIGKILL);
	(void)waitpid(guard, NULL, 0);
}
