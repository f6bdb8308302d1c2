/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes the place of `criu lazy-pages`: gets the userfaultfds of the tasks that `criu restore --lazy-pages` makes, answers their page
 * faults from the flat files, or with the page frames that the kernel module has recorded, and installs the rest in the background. One
 * thread, one epoll loop, faults first. A new process can go on where this one was killed: journal.h, fd_store.h.
 */
#include "serve/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames/device.h"
#include "serve/criu_peer.h"
#include "serve/faults.h"
#include "serve/notify.h"
#include "serve/recovery.h"
#include "serve/server.h"
#include "serve/transfers.h"

static volatile sig_atomic_t child_ended;

static void on_child(int number)
{
	(void)number;
	child_ended = 1;
}

/* To be stopped before the end would leave the application without its pages. */
static void set_signals(void)
{
	struct sigaction child = { .sa_handler = on_child };

	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigaction(SIGCHLD, &child, NULL);
}

/* ---- the guard of the descriptors, which only a service manager needs ---- */

static int start_guard(const struct server *server, pid_t *guard)
{
	if (notify_available())
		*guard = guard_start(server->options->journal, server->options->socket);
	return *guard < 0 ? -1 : 0;
}

/* Starts it once more if it has ended. */
static int revive_guard(const struct server *server, pid_t *guard)
{
	if (!child_ended || *guard <= 0)
		return 0;
	child_ended = 0;
	return waitpid(*guard, NULL, WNOHANG) == *guard ? start_guard(server, guard) : 0;
}

/* ---- the loop ---- */

static int dispatch(struct server *server, const struct epoll_event *event)
{
	struct task *task;

	switch (event->data.u64 >> 32) {
	case SOURCE_LISTENER:
		accept_connection(server);
		return 0;
	case SOURCE_CONNECTION:
		return receive_message(server);
	default:
		task = server_task(server, (uint32_t)event->data.u64);
		return !task || task->done ? 0 : read_userfaultfd(server, task);
	}
}

/* Waits, and handles what has come. -1 if serving cannot go on. */
static int attend(struct server *server, int milliseconds)
{
	struct epoll_event events[64];
	int count = epoll_wait(server->epoll, events, sizeof(events) / sizeof(*events), milliseconds);

	if (count < 0 && errno != EINTR)
		return fail_errno("the descriptors cannot be waited for");
	for (int i = 0; i < count; i++)
		if (dispatch(server, &events[i]))
			return -1;
	if (retry_blocked(server))
		return -1;
	settle_tasks(server);
	return 0;
}

/* Until the phase is one in which the daemon ends. */
static void run(struct server *server, pid_t *guard)
{
	bool busy = false;

	while (!phase_is_over(server->phase)) {
		if (attend(server, transfers_pause(server, busy)))
			server_note(server, EVENT_GIVEN_UP);
		if (phase_is_over(server->phase))
			return;
		if ((journal_full(&server->journal) && renew_journal(server)) || revive_guard(server, guard)) {
			server_note(server, EVENT_GIVEN_UP);
			return;
		}
		server_tell_status(server);
		server_bury(server);
		transfers_step(server, &busy);
	}
}

/* ---- the end ---- */

static int print_statistics(const struct server *server, double seconds)
{
	printf("{\"tasks\": %u, \"lazy_pages\": %" PRIu64 ", \"lost_pages\": %" PRIu64 ", \"seconds\": %.3f}\n", server->next_number,
	       snapshot_lazy_pages(&server->snapshot), *server->installer.lost, seconds);
	return fflush(stdout) ? -1 : 0;
}

/*
 * Nothing of this process is left for others. The service manager drops the listening socket with the service; a process that it starts
 * in between learns from it that there is nothing to do. Only the tmpfs is written to: the disk of the images may be full by now, or
 * read-only.
 */
static int clean_up(struct server *server, bool drained)
{
	notify_forget(CONNECTION_NAME);
	(void)unlink(server->options->socket);
	if (drained)
		return journal_end(&server->journal);
	(void)unlink(server->options->journal);
	return 0;
}

/* All pages are installed, or lost. */
static int finish_drained(struct server *server, double seconds)
{
	/* The count is in the journal, which is about to be closed. */
	bool lost = *server->installer.lost;

	if (print_statistics(server, seconds) || clean_up(server, !lost))
		return EXIT_FAILED;
	notify("STATUS=%s", lost ? "pages were lost" : "all pages are in place");
	return lost ? EXIT_DAMAGED : EXIT_OK;
}

/* Before the restore has ended nobody relies on the application; after it nothing may read zeros. */
static int finish_failed(struct server *server)
{
	bool restored = phase_is_restored(server->phase);

	server_kill_tree(server);
	(void)clean_up(server, false);
	notify("STATUS=%s", restored ? "the application has been ended, pages were lost" : "the restore has failed");
	return restored ? EXIT_DAMAGED : EXIT_NOT_RESTORED;
}

/* ---- the beginning ---- */

static int open_device(struct server *server)
{
	if (server->options->store)
		return 0;
	server->installer.device = device_open();
	return server->installer.device < 0 ? -1 : 0;
}

static int watch_all(struct server *server)
{
	if (server_watch(server, server->criu.listener, SOURCE_LISTENER, 0))
		return -1;
	if (server->criu.connection >= 0 && server_watch(server, server->criu.connection, SOURCE_CONNECTION, 0))
		return -1;
	for (uint32_t i = 0; i < server->task_count; i++) {
		const struct task *task = server->tasks[i];

		if (!task->done && server_watch(server, task->uffd, SOURCE_TASK, task->number))
			return -1;
	}
	return 0;
}

static int start(struct server *server, pid_t *guard)
{
	if (begin_or_resume(server) || start_guard(server, guard))
		return -1;
	server->criu.connection = fd_store_take(&server->stored, CONNECTION_NAME);
	server->criu.listener = fd_store_take(&server->stored, LISTENER_NAME);
	if (server->criu.listener < 0 && open_listener(server))
		return -1;
	return watch_all(server);
}

/* The exit code of a process that cannot begin: the first one has no tree to lose, so the restore is to fail at once. */
static int cannot_begin(const struct server *server)
{
	return server->stored.count ? EXIT_FAILED : EXIT_NOT_RESTORED;
}

static int serve_tree(struct server *server, pid_t *guard)
{
	double begun = seconds_now();

	if (snapshot_open(&server->snapshot, server->options->images, server->options->store) || open_device(server))
		return cannot_begin(server);
	if (predecessor_was_done(server)) {
		notify("READY=1");
		return journal_drained(server->options->journal) ? EXIT_OK : EXIT_DAMAGED;
	}
	if (start(server, guard))
		return phase_is_over(server->phase) ? finish_failed(server) : cannot_begin(server);
	notify("READY=1");
	run(server, guard);
	return server->phase == PHASE_DRAINED ? finish_drained(server, seconds_now() - begun) : finish_failed(server);
}

int serve(const struct serve_options *options)
{
	struct server server;
	pid_t guard = 0;
	int code;

	set_signals();
	code = server_init(&server, options);
	fd_store_receive(&server.stored);
	code = code ? cannot_begin(&server) : serve_tree(&server, &guard);
	guard_end(guard);
	server_free(&server);
	return code;
}
