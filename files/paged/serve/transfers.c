/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/transfers.h"

#include <sys/stat.h>

#include "serve/faults.h"

/* Pages at once after a fault; with each chunk that no fault interrupts, as many more. */
#define CHUNK_STEP 16
/* How long to wait before what was blocked is tried again, and before the file of --after is looked for again. */
#define RETRY_MILLISECONDS 1
#define AFTER_MILLISECONDS 10
/*
 * After a fault and two chunks, the application has its turn: on a machine with one processor the background transfer would else take
 * the processor for a whole time slice after each fault. Only in the first seconds, those of the first answers: the transfer of an
 * application that always faults would take for ever.
 */
#define YIELD_SECONDS 0.002
#define YIELDING_SECONDS 10.0

void transfers_note_fault(struct transfers *transfers)
{
	transfers->chunk = CHUNK_STEP;
}

/* Before the whole restore is over, its other parts need the processors more. */
static bool may_begin(struct server *server)
{
	struct stat status;

	if (server->phase == PHASE_ON_DEMAND) {
		server->transfers.draining_since = seconds_now();
		if (!server->options->after || !lstat(server->options->after, &status))
			server_note(server, EVENT_REST_ALLOWED);
	}
	return server->phase == PHASE_DRAINING;
}

/* The owner's frames are not installed while its heirs need what they hold. */
static bool may_prefetch(const struct server *server, const struct task *task)
{
	for (uint32_t i = 0; server->installer.device >= 0 && i < server->task_count; i++)
		if (is_heir(server->tasks[i], task))
			return false;
	return true;
}

/*
 * One chunk for a task that needs one; false if none can be served now. The oldest task first: what it has already, tasks that it forks
 * later have too.
 */
static bool prefetch(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done || task->blocked || task_is_drained(task) || !may_prefetch(server, task))
			continue;
		handle_outcome(server, task, 0, install_next(&server->installer, task, server->transfers.chunk));
		if (server->transfers.chunk < CHUNK_MAX)
			server->transfers.chunk += CHUNK_STEP;
		return true;
	}
	return false;
}

/* Lets go of tasks that have everything. Returns whether any is left; *ended: whether it has let go of one. */
static bool end_drained(struct server *server, bool *ended)
{
	bool any = false;

	*ended = false;
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done)
			continue;
		/* Not while a fork is going on: its child would get a descriptor that nobody has. */
		if (task_is_drained(task) && !task_unsettled(task)) {
			server_end_task(server, task);
			*ended = true;
			continue;
		}
		if (task_is_drained(task))
			task->blocked = true;
		any = true;
	}
	return any;
}

/* Milliseconds for which only pages that are asked for are installed. */
static int yielding(const struct transfers *transfers)
{
	double now = seconds_now(), left = transfers->fault_at + YIELD_SECONDS - now;

	/* The pages around the fault are still to come. */
	if (transfers->chunk <= 2 * CHUNK_STEP || now > transfers->draining_since + YIELDING_SECONDS || left <= 0)
		return 0;
	return (int)(1000 * left) + 1;
}

void transfers_step(struct server *server, bool *busy)
{
	*busy = false;
	if (!may_begin(server))
		return;
	*busy = yielding(&server->transfers) || prefetch(server);
	/* If it has let go of a task, others may have waited for that, see may_prefetch(). */
	if (!*busy && !end_drained(server, busy))
		server_note(server, EVENT_ALL_INSTALLED);
}

int transfers_pause(const struct server *server, bool busy)
{
	int yields = busy ? yielding(&server->transfers) : 0;

	if (busy && !yields)
		return 0;
	if (any_blocked(server))
		return RETRY_MILLISECONDS;
	if (yields)
		return yields;
	return server->phase == PHASE_ON_DEMAND ? AFTER_MILLISECONDS : -1;
}
