/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between the moment at which the kernel makes a userfaultfd in this process and the moment at which the service
 * manager has a copy, the descriptor exists in one table only. The keeper is a process that shares this table. If
 * serve dies it reads from the journal which descriptors came last, and hands them over itself; CRIU's connection too.
 */
#ifndef PAGED_KEEPER_H
#define PAGED_KEEPER_H

#include "common.h"

/* Starts it for the calling process; its process id, or -1 after saying why not. */
pid_t keeper_start(const char *journal, const char *socket_path);
void keeper_end(pid_t keeper);

/* The names under which the manager keeps CRIU's connection and the socket it was accepted from. */
#define CONNECTION_NAME "connection"
#define LISTENER_NAME "listener"
/* The name under which a task's descriptor is kept. */
#define DESCRIPTOR_NAME_SIZE 32
void descriptor_name(char name[DESCRIPTOR_NAME_SIZE], uint32_t task);

#endif
