/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/apply.h"

static int apply_hello(struct server *server, const struct slot *slot)
{
	if (slot->hello.pid == RESTORE_FINISHED) {
		server_note(server, EVENT_RESTORED);
		return 0;
	}
	/* A negative one is a zombie: it has no memory. */
	if (slot->hello.pid < 0)
		return 0;
	server->criu.announced = slot->hello.pid;
	server->criu.announced_start_time = slot->hello.start_time;
	return 0;
}

static int apply_descriptor(struct server *server)
{
	struct criu_peer *criu = &server->criu;
	struct regions regions;
	struct image *image;
	struct task *task;

	if (criu->announced <= 0)
		return fail("a userfaultfd has come before the process id that it belongs to");
	image = snapshot_image(&server->snapshot, (uint64_t)criu->announced);
	if (!image)
		return -1;
	if (regions_init(&regions, &image->runs, &image->areas))
		return fail("the pages and the areas of task %d in %s do not fit together", criu->announced,
			    server->options->images);
	task = server_add_task(server);
	task->pid = criu->announced;
	task->start_time = criu->announced_start_time;
	task->image = image;
	task->regions = regions;
	criu->announced = 0;
	return 0;
}

static void apply_fork(struct server *server, const struct task *parent)
{
	struct task *task = server_add_task(server);

	task->root = parent->root;
	task->pid = parent->pid;
	task->start_time = parent->start_time;
	task->image = parent->image;
	regions_copy(&task->regions, &parent->regions);
}

static int apply_event(struct server *server, const struct slot *slot, struct task *task)
{
	const struct uffd_msg *event = &slot->event;

	if (!task)
		return fail("the journal %s has an event of task %u, which is none of those before it", server->options->journal,
			    slot->task);
	switch (event->event) {
	case UFFD_EVENT_FORK:
		apply_fork(server, task);
		return 0;
	case UFFD_EVENT_REMAP:
		regions_move(&task->regions, event->arg.remap.from, event->arg.remap.to, event->arg.remap.len);
		return 0;
	case UFFD_EVENT_REMOVE:
		regions_remove(&task->regions, event->arg.remove.start, event->arg.remove.end);
		return 0;
	case UFFD_EVENT_UNMAP:
		regions_unmap(&task->regions, event->arg.remove.start, event->arg.remove.end);
		return 0;
	default:
		return fail("the kernel has sent the userfaultfd event 0x%x, expected one of fork, remap, remove, unmap",
			    event->event);
	}
}

int apply_slot(struct server *server, const struct slot *slot)
{
	/* Of the other kinds, the number means nothing. */
	struct task *task = slot->kind == SLOT_EVENT || slot->kind == SLOT_DONE || slot->kind == SLOT_SETTLED ?
				    server_task(server, slot->task) :
				    NULL;

	if (server->task_count >= TASKS_MAX || server->next_number == UINT32_MAX)
		return fail("task %u has come, and %u others are there, expected less than %d", server->next_number,
			    server->task_count, TASKS_MAX);
	switch (slot->kind) {
	case SLOT_HELLO:
		return apply_hello(server, slot);
	case SLOT_DESCRIPTOR:
		return apply_descriptor(server);
	case SLOT_EVENT:
		return apply_event(server, slot, task);
	case SLOT_DONE:
		if (task)
			task->done = true;
		return 0;
	case SLOT_SETTLED:
		if (task)
			regions_settle(&task->regions);
		return 0;
	default:
		return 0;
	}
}
