/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/recovery.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "serve/apply.h"
#include "serve/notify.h"
#include "serve/process.h"

/* ---- saved tasks ---- */

static size_t saved_size(const struct server *server)
{
	size_t size = 0;

	for (uint32_t i = 0; i < server->task_count; i++)
		size += sizeof(struct saved_task) + server->tasks[i]->regions.now.count * sizeof(struct region);
	return size;
}

static void save_tasks(const struct server *server, uint8_t *at)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		const struct task *task = server->tasks[i];
		struct saved_task saved = {
			.pid = task->pid,
			.done = task->done,
			.image = task->image->id,
			.start_time = task->start_time,
			.number = task->number,
			.root = task->root,
			.bits = task->regions.bits,
			.region_count = task->regions.now.count,
		};

		memcpy(at, &saved, sizeof(saved));
		at += sizeof(saved);
		if (task->regions.now.count)
			memcpy(at, task->regions.now.list, task->regions.now.count * sizeof(struct region));
		at += task->regions.now.count * sizeof(struct region);
	}
}

static int load_tasks(struct server *server)
{
	const struct journal_header *header = server->journal.header;
	const uint8_t *at = journal_saved(&server->journal), *end = at + header->saved_size;

	for (uint64_t i = 0; i < header->saved_count; i++) {
		struct saved_task saved;
		struct task *task;
		struct image *image;

		if ((size_t)(end - at) < sizeof(saved))
			return -1;
		memcpy(&saved, at, sizeof(saved));
		at += sizeof(saved);
		if (saved.region_count > (size_t)(end - at) / sizeof(struct region) || saved.root > saved.number ||
		    saved.number < server->next_number || saved.number >= header->task_count || i >= TASKS_MAX)
			return -1;
		image = snapshot_image(&server->snapshot, saved.image);
		if (!image || saved.bits > image->lazy_pages)
			return -1;
		server->next_number = (uint32_t)saved.number;
		task = server_add_task(server);
		task->pid = saved.pid;
		task->done = saved.done;
		task->start_time = saved.start_time;
		task->root = (uint32_t)saved.root;
		task->image = image;
		if (regions_load(&task->regions, (const struct region *)at, saved.region_count, saved.bits))
			return -1;
		at += saved.region_count * sizeof(struct region);
	}
	if (header->task_count < server->next_number || header->task_count > UINT32_MAX)
		return -1;
	server->next_number = (uint32_t)header->task_count;
	return 0;
}

/* ---- the journal ---- */

static int create_journal(struct server *server, const void *saved, size_t size)
{
	const struct journal_state state = {
		.snapshot = server->snapshot.id,
		.restored = phase_is_restored(server->phase),
		.lost = server->installer.lost ? *server->installer.lost : 0,
		.saved = saved,
		.saved_size = size,
		.saved_count = server->task_count,
		.task_count = server->next_number,
	};
	struct journal journal;

	if (journal_create(&journal, server->options->journal, &state))
		return -1;
	journal_close(&server->journal);
	server->journal = journal;
	server->installer.lost = &server->journal.header->lost;
	return 0;
}

static void note_start(struct server *server)
{
	(void)journal_prepare(&server->journal, SLOT_START, 0);
	journal_commit(&server->journal);
}

/* Whether several slots say something together, and the last of them has not come. */
static bool in_between(const struct server *server)
{
	if (server->criu.announced)
		return true;
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done && regions_expecting(&server->tasks[i]->regions))
			return true;
	return false;
}

int renew_journal(struct server *server)
{
	size_t size = saved_size(server);
	CLEANUP_FREE uint8_t *saved = NULL;

	if (in_between(server) && server->journal.next + 2 < server->journal.slot_count)
		return 0;
	saved = take(size);
	save_tasks(server, saved);
	if (create_journal(server, saved, size))
		return -1;
	note_start(server);
	return 0;
}

/* ---- going on ---- */

/* Lets go of the descriptor of a task that was done, if the predecessor had no time for that. */
static void drop_descriptor(struct server *server, struct task *task)
{
	char name[DESCRIPTOR_NAME_SIZE];

	descriptor_name(name, task->number);
	task->uffd = fd_store_take(&server->stored, name);
	close_fd(&task->uffd);
	notify_forget(name);
}

/* In the time of the journal, too, forked tasks that were done made room for those that came. */
static void make_room(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (!task->done || task->root == task->number)
			continue;
		drop_descriptor(server, task);
		task_free(task);
	}
	server_forget_done(server);
}

static int replay(struct server *server)
{
	server->installer.lost = &server->journal.header->lost;
	if (server->journal.header->restored)
		server_note(server, EVENT_RESTORED);
	if (load_tasks(server))
		return fail("the journal %s is damaged", server->options->journal);
	for (uint64_t i = 0; i < server->journal.next; i++) {
		if (server->task_count >= TASKS_MAX)
			make_room(server);
		if (apply_slot(server, &server->journal.slots[i]))
			return -1;
	}
	return 0;
}

/* Gives the tasks that are not done their descriptors. Returns for how many there is none. */
static uint32_t attach_descriptors(struct server *server)
{
	char name[DESCRIPTOR_NAME_SIZE];
	uint32_t lost = 0;

	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done) {
			drop_descriptor(server, task);
			continue;
		}
		descriptor_name(name, task->number);
		task->uffd = fd_store_take(&server->stored, name);
		if (task->uffd < 0)
			lost++;
		else
			(void)task_wake_all(task);
	}
	return lost;
}

static bool any_alive(const struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		const struct task *task = server->tasks[i];

		if (!task->done && task->start_time && process_start_time(task->pid) == task->start_time)
			return true;
	}
	return false;
}

/* 0: goes on; 1: the tree of the journal is gone; -1: the tree runs, but cannot be served. */
static int resume(struct server *server)
{
	uint32_t lost;

	if (memcmp(server->journal.header->snapshot, server->snapshot.id, SNAPSHOT_SIZE) || replay(server)) {
		fail("the journal %s does not fit the images in %s", server->options->journal, server->options->images);
		return any_alive(server) ? -1 : 1;
	}
	lost = attach_descriptors(server);
	if (!lost && (server->task_count || server->stored.count))
		return 0;
	if (!any_alive(server))
		return 1;
	fail("the descriptors of %u of %u tasks are gone: what was missing in them reads as zeros now", lost, server->task_count);
	return -1;
}

static int begin_anew(struct server *server)
{
	journal_forget_drained(server->options->journal);
	if (fd_store_has(&server->stored, USERFAULTFD_PREFIX))
		return fail(
			"the service manager has passed userfaultfds, but there is no journal %s: the application is left waiting",
			server->options->journal);
	return create_journal(server, NULL, 0);
}

int begin_or_resume(struct server *server)
{
	int result = journal_open(&server->journal, server->options->journal);

	if (result < 0)
		return -1;
	if (!result) {
		result = resume(server);
		if (result < 0) {
			server_note(server, EVENT_GIVEN_UP);
			return -1;
		}
		if (result) {
			server_drop_tasks(server);
			server_note(server, EVENT_TREE_GONE);
			server->installer.lost = NULL;
		}
	}
	if (result && begin_anew(server))
		return -1;
	note_start(server);
	return 0;
}

/* The journal is gone, and the service manager still has the listening socket. */
bool predecessor_was_done(const struct server *server)
{
	return fd_store_has(&server->stored, LISTENER_NAME) && access(server->options->journal, F_OK) && errno == ENOENT;
}
