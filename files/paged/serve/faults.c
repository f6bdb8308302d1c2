/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/faults.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "serve/apply.h"
#include "serve/notify.h"
#include "serve/transfers.h"

/* Messages that are read of one task before the others get their turn. */
#define READS_IN_A_ROW 64

void handle_outcome(struct server *server, struct task *task, uint64_t address, enum outcome outcome)
{
	switch (outcome) {
	case INSTALLED:
		return;
	case BLOCKED:
		if (address)
			task_wait(task, address);
		task->blocked = true;
		return;
	case GONE:
		server_end_task(server, task);
		return;
	case LOST:
		server_tell_status_soon(server);
		server_note(server, EVENT_PAGE_LOST);
	}
}

bool is_heir(const struct task *task, const struct task *owner)
{
	return !task->done && task != owner && task->root == owner->number;
}

/* A copy for one heir. */
static enum outcome copy_to_heir(struct server *server, struct task *heir, uint64_t bit)
{
	/* Events that are still to come may say that it needs the page somewhere else. */
	if (regions_expecting(&heir->regions) || task_unsettled(heir))
		return BLOCKED;
	return install_bit(&server->installer, heir, bit);
}

/*
 * A frame becomes its owner's, who may write to it at once. Tasks that were forked from the owner and still need what the frame holds
 * get copies first. BLOCKED if one of them cannot yet.
 */
static enum outcome copy_first(struct server *server, struct task *owner, uint64_t address)
{
	struct region *region = regions_find(&owner->regions, address & ~(PAGE_SIZE - 1));
	enum outcome result = INSTALLED;
	uint64_t bit;

	if (server->installer.device < 0 || owner->root != owner->number || !region || region->source == SOURCE_ZEROS)
		return INSTALLED;
	bit = region_bit(region, address);
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *heir = server->tasks[i];
		enum outcome outcome;

		if (!is_heir(heir, owner))
			continue;
		outcome = copy_to_heir(server, heir, bit);
		if (outcome == BLOCKED)
			result = BLOCKED;
		handle_outcome(server, heir, 0, outcome);
	}
	return result;
}

static void serve_fault(struct server *server, struct task *task, uint64_t address)
{
	enum outcome outcome = copy_first(server, task, address);

	transfers_note_fault(&server->transfers);
	handle_outcome(server, task, address, outcome == BLOCKED ? BLOCKED : install_fault(&server->installer, task, address));
}

int adopt_userfaultfd(struct server *server, struct task *task, int fd)
{
	char name[DESCRIPTOR_NAME_SIZE];

	task->uffd = fd;
	descriptor_name(name, task->number);
	/* Until the service manager has a copy, the descriptor exists in this process only. */
	if (notify_available() && notify_store(fd, name))
		return -1;
	return server_watch(server, fd, SOURCE_TASK, task->number);
}

/* Handles one event that the slot has, and commits it. -1 if serving cannot go on. */
static int take_event(struct server *server, const struct slot *slot)
{
	journal_commit(&server->journal);
	if (apply_slot(server, slot))
		return -1;
	if (slot->event.event != UFFD_EVENT_FORK)
		return 0;
	return adopt_userfaultfd(server, server->tasks[server->task_count - 1], slot_descriptor(slot));
}

int read_userfaultfd(struct server *server, struct task *task)
{
	for (int i = 0; i < READS_IN_A_ROW && !task->done; i++) {
		struct slot *slot = journal_prepare(&server->journal, SLOT_EVENT, task->number);
		ssize_t got;

		if (!slot)
			return 0;
		got = read(task->uffd, &slot->event, sizeof(slot->event));
		if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
			journal_drop(&server->journal);
			return 0;
		}
		if (got != sizeof(slot->event)) {
			journal_drop(&server->journal);
			return fail_errno("the userfaultfd of task %u cannot be read", task->number);
		}
		if (slot->event.event == UFFD_EVENT_PAGEFAULT) {
			uint64_t address = slot->event.arg.pagefault.address;

			journal_drop(&server->journal);
			serve_fault(server, task, address);
			server->transfers.fault_at = seconds_now();
			continue;
		}
		if (take_event(server, slot))
			return -1;
		if (journal_full(&server->journal))
			return 0;
	}
	return 0;
}

int retry_blocked(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];
		CLEANUP_FREE uint64_t *waiting = NULL;
		size_t count;

		if (task->done || !task->blocked)
			continue;
		if (read_userfaultfd(server, task))
			return -1;
		count = task->waiting_count;
		waiting = take(count * sizeof(*waiting));
		if (count)
			memcpy(waiting, task->waiting, count * sizeof(*waiting));
		task->waiting_count = 0;
		task->blocked = false;
		for (size_t j = 0; j < count && !task->done; j++)
			serve_fault(server, task, waiting[j]);
	}
	return 0;
}

bool any_blocked(const struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done && server->tasks[i]->blocked)
			return true;
	return false;
}

/*
 * While events are queued the kernel says so before anything else. If it has none, none will come about what is kept for one. A
 * successor must know that too.
 */
void settle_tasks(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done || !regions_expecting(&task->regions))
			continue;
		if (task_unsettled(task) || !journal_prepare(&server->journal, SLOT_SETTLED, task->number)) {
			task->blocked = true;
			continue;
		}
		journal_commit(&server->journal);
		regions_settle(&task->regions);
	}
}
