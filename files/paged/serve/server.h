/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of one `paged serve` share: its options, its phase, the snapshot, the journal and the tasks. */
#ifndef PAGED_SERVER_H
#define PAGED_SERVER_H

#include <sys/epoll.h>

#include "serve/fd_store.h"
#include "serve/install.h"
#include "serve/journal.h"
#include "serve/phase.h"
#include "serve/serve.h"
#include "serve/snapshot.h"
#include "serve/task.h"

/* Tasks at once. */
#ifndef TASKS_MAX
#define TASKS_MAX 65536
#endif

/* What an epoll event is about; a task's number is in the low 32 bits. */
enum source { SOURCE_LISTENER = 1, SOURCE_CONNECTION, SOURCE_TASK };

/* See criu_peer.h. */
struct criu_peer {
	int listener;
	int connection;
	/* CRIU and the tree are in this process's pid namespace: a process id means the same here. */
	bool ids_are_ours;
	/* The process whose userfaultfd comes next, 0 if none, and its start time. */
	int32_t announced;
	uint64_t announced_start_time;
};

/* See transfers.h. Times in seconds of seconds_now(). */
struct transfers {
	/* Pages that the background transfer installs at once. */
	uint64_t chunk;
	double draining_since, fault_at;
};

struct server {
	const struct serve_options *options;
	/* Changed by server_note() alone. */
	enum phase phase;
	struct snapshot snapshot;
	struct journal journal;
	struct installer installer;
	struct criu_peer criu;
	struct transfers transfers;
	struct stored_descriptors stored;
	/* In the order of their numbers: those that CRIU has restored, and of the forked ones those that have not been forgotten yet. */
	struct task **tasks;
	uint32_t task_count;
	/* Of the task that comes next, and of the one with which the next burial comes. */
	uint32_t next_number, burial_at;
	int epoll;
	/* When the status is told next. */
	double status_at;
};

/* Makes what needs no file. -1 after saying why not. Free in either case. */
int server_init(struct server *server, const struct serve_options *options);
void server_free(struct server *server);

/* Changes the phase as this event demands. */
void server_note(struct server *server, enum phase_event event);
/* Tells the service manager the status, at most once a second. */
void server_tell_status(struct server *server);
/* The next call tells it in any case. */
void server_tell_status_soon(struct server *server);

/* Has epoll report when the descriptor can be read. -1 after saying why not. */
int server_watch(struct server *server, int fd, enum source source, uint32_t number);
/* Stops that. */
void server_unwatch(struct server *server, int fd);

/* A new task with the next number. */
struct task *server_add_task(struct server *server);
/* The task of this number; NULL if there is none, or none any more. */
struct task *server_task(const struct server *server, uint32_t number);
/* The task needs no more pages, or has ended: notes that in the journal, and lets go of it. */
void server_end_task(struct server *server, struct task *task);
/* Forgets the forked tasks that are done, of which nothing is left. Not while somebody goes through the tasks. */
void server_forget_done(struct server *server);
/* Now and then, lets go of forked tasks that have ended, and forgets them. Not while somebody goes through the tasks. */
void server_bury(struct server *server);
/* Forgets all tasks, and the process that was announced. */
void server_drop_tasks(struct server *server);
/* Kills all processes that CRIU has restored here: none may go on without its pages. */
void server_kill_tree(struct server *server);

#endif
