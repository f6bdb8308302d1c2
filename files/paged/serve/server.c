/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/server.h"

#include <inttypes.h>
#include <stdlib.h>

#include "serve/notify.h"
#include "serve/recovery.h"
#include "serve/transfers.h"

#define STATUS_SECONDS 1.0
/* Nobody is told that a forked process has ended. A server that forks for each request could leave thousands of them. */
#define BURIAL_STEP 256

int server_init(struct server *server, const struct serve_options *options)
{
	*server = (struct server){
		.options = options,
		.phase = PHASE_RESTORING,
		.snapshot = SNAPSHOT_CLOSED,
		.criu = { .listener = -1, .connection = -1 },
		.epoll = epoll_create1(EPOLL_CLOEXEC),
	};
	installer_init(&server->installer, &server->phase);
	transfers_note_fault(&server->transfers);
	return server->epoll < 0 ? fail_errno("no epoll descriptor") : 0;
}

void server_free(struct server *server)
{
	server_drop_tasks(server);
	free(server->tasks);
	free(server->stored.list);
	installer_free(&server->installer);
	journal_close(&server->journal);
	snapshot_close(&server->snapshot);
	close_fd(&server->criu.listener);
	close_fd(&server->criu.connection);
	close_fd(&server->epoll);
}

void server_note(struct server *server, enum phase_event event)
{
	server->phase = phase_after(server->phase, event);
}

static uint64_t pages_left(const struct server *server)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done)
			left += server->tasks[i]->regions.left;
	return left;
}

void server_tell_status(struct server *server)
{
	double now = seconds_now();

	if (now < server->status_at)
		return;
	server->status_at = now + STATUS_SECONDS;
	notify("STATUS=%s, %" PRIu64 " pages left%s", phase_is_restored(server->phase) ? "restored" : "restoring",
	       pages_left(server), *server->installer.lost ? ", PAGES LOST" : "");
}

void server_tell_status_soon(struct server *server)
{
	server->status_at = 0;
}

int server_watch(struct server *server, int fd, enum source source, uint32_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | number };

	if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event))
		return fail_errno("a descriptor cannot be watched");
	return 0;
}

void server_unwatch(struct server *server, int fd)
{
	(void)epoll_ctl(server->epoll, EPOLL_CTL_DEL, fd, NULL);
}

struct task *server_add_task(struct server *server)
{
	struct task *task = take(sizeof(*task));

	task->number = server->next_number++;
	task->root = task->number;
	task->uffd = -1;
	server->tasks = take_more(server->tasks, server->task_count + 1, sizeof(*server->tasks));
	server->tasks[server->task_count++] = task;
	return task;
}

static int by_number(const void *number, const void *task)
{
	uint32_t wanted = *(const uint32_t *)number, found = (*(struct task *const *)task)->number;

	return wanted < found ? -1 : wanted > found;
}

struct task *server_task(const struct server *server, uint32_t number)
{
	struct task **found = server->task_count ? bsearch(&number, server->tasks, server->task_count, sizeof(*server->tasks),
							   by_number) :
						   NULL;

	return found ? *found : NULL;
}

static void forget_task(struct server *server, struct task *task)
{
	char name[DESCRIPTOR_NAME_SIZE];

	server_unwatch(server, task->uffd);
	task_free(task);
	task->done = true;
	descriptor_name(name, task->number);
	notify_forget(name);
}

void server_end_task(struct server *server, struct task *task)
{
	/* First in the journal: a successor must not take the missing descriptor for a loss. */
	task->done = true;
	if (journal_prepare(&server->journal, SLOT_DONE, task->number))
		journal_commit(&server->journal);
	else if (renew_journal(server))
		return;
	forget_task(server, task);
}

void server_forget_done(struct server *server)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done && task->root != task->number)
			free(task);
		else
			server->tasks[kept++] = task;
	}
	server->task_count = kept;
}

void server_bury(struct server *server)
{
	if (server->next_number < server->burial_at)
		return;
	server->burial_at = server->next_number + BURIAL_STEP;
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (!task->done && task->root != task->number && task_is_gone(task))
			server_end_task(server, task);
	}
	server_forget_done(server);
}

void server_drop_tasks(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		task_free(server->tasks[i]);
		free(server->tasks[i]);
	}
	server->task_count = server->next_number = 0;
	server->criu.announced = 0;
}

void server_kill_tree(struct server *server)
{
	/* CRIU fails when one of them ends. */
	for (uint32_t i = 0; i < server->task_count; i++)
		if (server->tasks[i]->root == server->tasks[i]->number)
			task_kill(server->tasks[i]);
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done)
			forget_task(server, server->tasks[i]);
}
