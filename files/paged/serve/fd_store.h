/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The service manager's store of descriptors (FDSTORE=1, sd_notify(3)) as the memory of `paged serve`, and its guard.
 *
 * Between the moment at which the kernel makes a userfaultfd in this process and the moment at which the service manager has a copy, the
 * descriptor exists in one table only. The guard is a process that shares this table. If serve dies, the guard reads from the journal
 * which descriptors came last, and hands them over itself; CRIU's connection too.
 */
#ifndef PAGED_FD_STORE_H
#define PAGED_FD_STORE_H

#include "base/pages.h"

/* The names under which the service manager stores CRIU's connection and the socket that it was accepted from. */
#define CONNECTION_NAME "connection"
#define LISTENER_NAME "listener"
/* The name of a task's userfaultfd. */
#define DESCRIPTOR_NAME_SIZE 32
#define USERFAULTFD_PREFIX "uffd-"
void descriptor_name(char name[DESCRIPTOR_NAME_SIZE], uint32_t task);

bool is_userfaultfd(int fd);

/* Descriptors that the service manager has passed to this process. */
struct stored_descriptors {
	struct stored_descriptor {
		int fd;
		char name[64];
	} *list;
	size_t count;
};

/* Receives all of them, once. */
void fd_store_receive(struct stored_descriptors *stored);
/* Takes the one of this name out; the caller closes it. -1 if there is none. */
int fd_store_take(struct stored_descriptors *stored, const char *name);
/* Whether one came whose name begins like this, taken out or not. */
bool fd_store_has(const struct stored_descriptors *stored, const char *prefix);

/* Starts the guard of the calling process. Its process id, or -1 after saying why not. */
pid_t guard_start(const char *journal, const char *socket_path);
/* Ends the guard; 0 is none. */
void guard_end(pid_t guard);

#endif
