/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel says about the tasks: page faults, which are served at once, and events, which change what belongs where. */
#ifndef PAGED_FAULTS_H
#define PAGED_FAULTS_H

#include "serve/server.h"

/* Takes the descriptor of a task that has just come; the service manager gets a copy. -1 after saying why not. */
int adopt_userfaultfd(struct server *server, struct task *task, int fd);

/* Reads and handles a few messages about a task. -1 if serving cannot go on. */
int read_userfaultfd(struct server *server, struct task *task);
/* Reads the events of tasks that were blocked by them, and serves the faults that waited. -1 if serving cannot go on. */
int retry_blocked(struct server *server);
/* Whether any task waits for events. */
bool any_blocked(const struct server *server);
/* Drops what is kept for events that will not come, because the kernel has none. */
void settle_tasks(struct server *server);

/* What follows from the outcome of an installation. `address`: of the fault that it served, 0 if it served none. */
void handle_outcome(struct server *server, struct task *task, uint64_t address, enum outcome outcome);
/* Whether `task` is another task, forked from `owner` while `owner` waited for pages, that waits for some itself. */
bool is_heir(const struct task *task, const struct task *owner);

#endif
