/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes the place of `criu lazy-pages`: gets the userfaultfds of the tasks that `criu restore --lazy-pages` makes,
 * answers their page faults from the flat files, or with the page frames that the kernel module has kept, and brings in
 * the rest in the background. One thread, one epoll loop, faults first. A new process can go on where this one was killed: journal.h, keeper.h.
 */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "images.h"
#include "journal.h"
#include "device.h"
#include "keeper.h"
#include "kept_tasks.h"
#include "notify.h"
#include "snapshot_id.h"
#include "store.h"
#include "task.h"
#include "wire.h"

/* criu/uffd.c: LAZY_PAGES_RESTORE_FINISHED, sent like a process id but larger than any. */
#define RESTORE_FINISHED 0x52535446
#define TASKS_MAX 65536
/* Messages that are read of one task before the others get their turn. */
#define READS_IN_A_ROW 64
/* Background transfer: pages at once after a fault, growing by as many while there is none. */
#define CHUNK_STEP 16
#define STATUS_SECONDS 1.0
#define RETRY_MILLISECONDS 1
#define AFTER_MILLISECONDS 10
/*
 * After a fault, and two chunks of the background transfer, the application has its turn: on a machine with one processor the background
 * transfer would else take it for a whole time slice after each fault. Only in the first seconds, those of the first answers: an
 * application that always faults would have its transfer take for ever.
 */
#define YIELD_SECONDS 0.002
#define YIELDING_SECONDS 10.0

/* What an epoll event is about; a task's number is in the low 32 bits. */
enum source { SOURCE_LISTENER = 1, SOURCE_CONNECTION, SOURCE_TASK };

struct received {
	int fd;
	char name[64];
};

struct server {
	const struct serve_options *options;
	int images_dir;
	int store_dir;
	char snapshot[SNAPSHOT_SIZE];
	struct kept_tasks kept;
	struct journal journal;
	int epoll;
	int listener;
	int connection;
	/* CRIU is at home where this process is, and so is the tree: a process id means the same here. */
	bool ids_are_ours;
	/* By number. */
	struct task **tasks;
	uint32_t task_count;
	struct image **images;
	size_t image_count;
	struct installer installer;
	/* The process whose descriptor comes next; 0 if none. */
	int32_t hello_pid;
	uint64_t hello_start_time;
	/* CRIU has given up, or nothing can be served: end. */
	bool restore_failed;
	/* The rest may come in, see serve_options.after. */
	bool begun;
	pid_t keeper;
	uint64_t chunk;
	double start, status_at, begun_at, fault_at;
	struct received *received;
	size_t received_count;
};

static volatile sig_atomic_t child_ended;

static void on_child(int number)
{
	(void)number;
	child_ended = 1;
}

static int watch(struct server *server, int fd, enum source source, uint32_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | number };

	if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event))
		return fail_errno("a descriptor cannot be watched");
	return 0;
}

/* The image's name in the kernel module's table. */
static int find_kept(const struct server *server, struct image *image)
{
	for (size_t i = 0; i < server->kept.count; i++)
		if ((uint64_t)server->kept.list[i].pid == image->id) {
			image->kept = server->kept.list[i].number;
			return 0;
		}
	return fail("process %" PRIu64 " is not in the list of tasks in %s", image->id, server->options->images);
}

static struct image *find_image(struct server *server, uint64_t id)
{
	struct image *image;

	for (size_t i = 0; i < server->image_count; i++)
		if (server->images[i]->id == id)
			return server->images[i];
	image = take(sizeof(*image));
	image->id = id;
	if (pagemap_read(server->images_dir, id, &image->runs) || mm_read(server->images_dir, id, &image->areas) ||
	    (server->installer.device >= 0 && find_kept(server, image))) {
		runs_free(&image->runs);
		runs_free(&image->areas);
		free(image);
		return NULL;
	}
	for (size_t i = 0; i < image->runs.count; i++)
		if (image->runs.list[i].flags & PE_LAZY)
			image->lazy_pages += image->runs.list[i].pages;
	object_init(&image->files, server->store_dir, OBJECT_TASK, id, false);
	server->images = take_more(server->images, server->image_count + 1, sizeof(struct image *));
	server->images[server->image_count++] = image;
	return image;
}

static struct task *add_task(struct server *server)
{
	struct task *task = take(sizeof(*task));

	task->number = server->task_count;
	task->root = task->number;
	task->uffd = -1;
	server->tasks = take_more(server->tasks, server->task_count + 1, sizeof(struct task *));
	server->tasks[server->task_count++] = task;
	return task;
}

static uint64_t pages_left(const struct server *server)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done)
			left += server->tasks[i]->regions.left;
	return left;
}

static void tell_status(struct server *server)
{
	double now = seconds_now();

	if (now < server->status_at)
		return;
	server->status_at = now + STATUS_SECONDS;
	notify("STATUS=%s, %" PRIu64 " pages left%s", server->installer.restored ? "restored" : "restoring", pages_left(server),
	       *server->installer.lost ? ", PAGES LOST" : "");
}

/* ---- what a slot of the journal means, when it comes and when it is replayed ---- */

static int apply_hello(struct server *server, const struct slot *slot)
{
	if (slot->hello.pid == RESTORE_FINISHED)
		server->installer.restored = true;
	/* A negative one is a zombie: it has no memory. */
	if (slot->hello.pid < 0 || slot->hello.pid == RESTORE_FINISHED)
		return 0;
	server->hello_pid = slot->hello.pid;
	server->hello_start_time = slot->hello.start_time;
	return 0;
}

static int apply_descriptor(struct server *server)
{
	struct regions regions;
	struct image *image;
	struct task *task;

	if (server->hello_pid <= 0)
		return fail("a userfaultfd has come before the process id that it belongs to");
	image = find_image(server, (uint64_t)server->hello_pid);
	if (!image)
		return -1;
	if (regions_init(&regions, &image->runs, &image->areas))
		return fail("the pages and the areas of task %d in %s do not fit together", server->hello_pid, server->options->images);
	task = add_task(server);
	task->pid = server->hello_pid;
	task->start_time = server->hello_start_time;
	task->image = image;
	task->regions = regions;
	server->hello_pid = 0;
	return 0;
}

static void apply_fork(struct server *server, struct task *parent)
{
	struct task *task = add_task(server);

	task->root = parent->root;
	task->pid = parent->pid;
	task->start_time = parent->start_time;
	task->image = parent->image;
	regions_copy(&task->regions, &parent->regions);
}

static int apply_event(struct server *server, const struct slot *slot)
{
	const struct uffd_msg *event = &slot->event;
	struct task *task;

	if (slot->task >= server->task_count)
		return fail("the journal %s has an event of task %u, expected less than %u", server->options->journal, slot->task,
			    server->task_count);
	task = server->tasks[slot->task];
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
		return fail("the kernel has sent the userfaultfd event 0x%x, expected one of fork, remap, remove, unmap", event->event);
	}
}

static int apply(struct server *server, const struct slot *slot)
{
	if (server->task_count >= TASKS_MAX)
		return fail("more than %d tasks have come", TASKS_MAX);
	switch (slot->kind) {
	case SLOT_HELLO:
		return apply_hello(server, slot);
	case SLOT_DESCRIPTOR:
		return apply_descriptor(server);
	case SLOT_EVENT:
		return apply_event(server, slot);
	case SLOT_DONE:
		if (slot->task < server->task_count)
			server->tasks[slot->task]->done = true;
		return 0;
	case SLOT_SETTLED:
		if (slot->task < server->task_count)
			regions_settle(&server->tasks[slot->task]->regions);
		return 0;
	default:
		return 0;
	}
}

/* ---- the end of a task and of the whole ---- */

static void forget_task(struct server *server, struct task *task)
{
	char name[DESCRIPTOR_NAME_SIZE];

	(void)epoll_ctl(server->epoll, EPOLL_CTL_DEL, task->uffd, NULL);
	task_free(task);
	task->done = true;
	descriptor_name(name, task->number);
	notify_forget(name);
}

static int renew_journal(struct server *server);

static void end_task(struct server *server, struct task *task)
{
	/* First in the journal: a successor must not take the missing descriptor for a loss. */
	task->done = true;
	if (journal_prepare(&server->journal, SLOT_DONE, task->number))
		journal_commit(&server->journal);
	else if (renew_journal(server))
		return;
	forget_task(server, task);
}

/* No process may go on without its pages: CRIU fails when one of them ends. */
static void abandon(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++)
		if (server->tasks[i]->root == i)
			task_kill(server->tasks[i]);
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done)
			forget_task(server, server->tasks[i]);
}

/* ---- page faults and events ---- */

static void handle(struct server *server, struct task *task, uint64_t address, enum outcome outcome)
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
		end_task(server, task);
		return;
	case LOST:
		server->status_at = 0;
		if (!server->installer.restored)
			server->restore_failed = true;
	}
}

/* Whether it was forked from `owner` while that waited for pages, and waits for some itself. */
static bool is_heir(const struct task *task, const struct task *owner)
{
	return !task->done && task != owner && task->root == owner->number;
}

/*
 * A frame becomes its owner's, who may write to it at once: whoever was forked from that and still needs what the frame holds
 * gets a copy first.
 */
static enum outcome copy_first(struct server *server, struct task *owner, uint64_t address)
{
	struct region *region = regions_find(&owner->regions, address & ~(PAGE_SIZE - 1));
	enum outcome result = INSTALLED;
	uint64_t bit;

	if (server->installer.device < 0 || owner->root != owner->number || !region || region->source == SOURCE_ZEROS)
		return INSTALLED;
	bit = region->bit + (address - region->start) / PAGE_SIZE;
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *heir = server->tasks[i];
		/* Events that are still to come may say that it needs the page somewhere else. */
		enum outcome outcome = BLOCKED;

		if (!is_heir(heir, owner))
			continue;
		if (!regions_expecting(&heir->regions) && !task_unsettled(heir))
			outcome = task_bring_bit(&server->installer, heir, bit);
		if (outcome == BLOCKED)
			result = BLOCKED;
		handle(server, heir, 0, outcome);
	}
	return result;
}

static void serve_fault(struct server *server, struct task *task, uint64_t address)
{
	enum outcome outcome = copy_first(server, task, address);

	server->chunk = CHUNK_STEP;
	handle(server, task, address, outcome == BLOCKED ? BLOCKED : task_fault(&server->installer, task, address));
}

/* Whether pages may be brought in before anybody asks for them: not the owner's frames, while others need what they hold. */
static bool may_prefetch(const struct server *server, const struct task *task)
{
	for (uint32_t i = 0; server->installer.device >= 0 && i < server->task_count; i++)
		if (is_heir(server->tasks[i], task))
			return false;
	return true;
}

/* The descriptor exists in this process only until the service manager has it. */
static int adopt(struct server *server, struct task *task, int fd)
{
	char name[DESCRIPTOR_NAME_SIZE];

	task->uffd = fd;
	descriptor_name(name, task->number);
	if (notify_available() && notify_store(fd, name))
		return -1;
	return watch(server, fd, SOURCE_TASK, task->number);
}

/* Reads what the kernel has to say about a task. -1 if serving cannot go on. */
static int read_events(struct server *server, struct task *task)
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
			server->fault_at = seconds_now();
			continue;
		}
		journal_commit(&server->journal);
		if (apply(server, slot))
			return -1;
		if (slot->event.event == UFFD_EVENT_FORK &&
		    adopt(server, server->tasks[server->task_count - 1], slot_descriptor(slot)))
			return -1;
		if (journal_full(&server->journal))
			return 0;
	}
	return 0;
}

/* Events first, then what could not be installed because of them. */
static int retry_blocked(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];
		size_t count = task->waiting_count;
		CLEANUP_FREE uint64_t *waiting = NULL;

		if (task->done || !task->blocked)
			continue;
		if (read_events(server, task))
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

/*
 * While events are queued the kernel says so before anything else. If it has none, none will come about what is kept
 * for one: a successor must know that too.
 */
static void settle(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done || !regions_expecting(&task->regions))
			continue;
		if (task_unsettled(task) || !journal_prepare(&server->journal, SLOT_SETTLED, i)) {
			task->blocked = true;
			continue;
		}
		journal_commit(&server->journal);
		regions_settle(&task->regions);
	}
}

/* ---- CRIU's connection ---- */

static bool is_userfaultfd(int fd)
{
	char path[64], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = readlink(path, target, sizeof(target) - 1);
	return size == (ssize_t)strlen("anon_inode:[userfaultfd]") && !memcmp(target, "anon_inode:[userfaultfd]", (size_t)size);
}

static void close_connection(struct server *server)
{
	if (server->connection < 0)
		return;
	(void)epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->connection, NULL);
	close_fd(&server->connection);
	notify_forget(CONNECTION_NAME);
}

/* A tree that has a namespace of its own has a process 1. */
static bool are_ids_ours(const struct server *server, int32_t peer)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", peer);
	return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino && faccessat(server->images_dir, "core-1.img", F_OK, 0);
}

/*
 * Start time of the process that CRIU means. It names it by the id in the process's own namespace: that is the same process here
 * if it is one of CRIU's children, or of who has started CRIU (--restore-sibling). Whoever reads the message late, with CRIU gone,
 * must have seen before that the ids are those of this namespace. Else 0: not to be killed.
 */
static uint64_t restored_start_time(const struct server *server, int32_t pid)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	uint64_t start_time;
	int32_t starter;

	if (getsockopt(server->connection, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return 0;
	start_time = process_start_time(pid);
	starter = process_parent(peer.pid);
	for (int32_t at = pid; at > 1; at = process_parent(at))
		if (at == peer.pid || (at == starter && at != pid))
			return start_time;
	if (server->ids_are_ours && !process_start_time(peer.pid))
		return start_time;
	note("process %d is not one that process %d has restored here: it cannot be ended if pages are lost", pid, peer.pid);
	return 0;
}

static int receive_hello(struct server *server)
{
	struct slot *slot = journal_prepare(&server->journal, SLOT_HELLO, 0);
	ssize_t got;

	if (!slot)
		return fail("the journal %s is full", server->options->journal);
	got = recv(server->connection, &slot->hello.pid, sizeof(slot->hello.pid), MSG_DONTWAIT);
	if (got == sizeof(slot->hello.pid) && slot->hello.pid) {
		if (slot->hello.pid > 0 && slot->hello.pid != RESTORE_FINISHED)
			slot->hello.start_time = restored_start_time(server, slot->hello.pid);
		journal_commit(&server->journal);
		if (apply(server, slot))
			return -1;
		if (slot->hello.pid == RESTORE_FINISHED)
			server->status_at = 0;
		return 0;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		journal_drop(&server->journal);
		return 0;
	}
	slot->hello.pid = 0;
	journal_drop(&server->journal);
	if (got == 0 && server->installer.restored) {
		close_connection(server);
		return 0;
	}
	if (got == 0)
		return fail("CRIU has closed the connection before the restore was finished: it has failed");
	return fail("CRIU's message of a process id has %zd bytes, expected %zu", got, sizeof(slot->hello.pid));
}

static int receive_descriptor(struct server *server)
{
	struct slot *slot = journal_prepare(&server->journal, SLOT_DESCRIPTOR, 0);
	struct iovec data;
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t got;
	int fd;

	if (!slot)
		return fail("the journal %s is full", server->options->journal);
	data = (struct iovec){ .iov_base = &slot->descriptor.byte, .iov_len = 1 };
	message.msg_control = slot->descriptor.control;
	message.msg_controllen = sizeof(slot->descriptor.control);
	got = recvmsg(server->connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		journal_drop(&server->journal);
		return 0;
	}
	fd = slot_descriptor(slot);
	if (got <= 0 || fd < 0 || (message.msg_flags & MSG_CTRUNC) || !is_userfaultfd(fd)) {
		journal_drop(&server->journal);
		return fail("the message after process id %d has no userfaultfd in it: is this CRIU's connection?", server->hello_pid);
	}
	journal_commit(&server->journal);
	/* CRIU sets it; a read that waits would stop all the others. */
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return fail_errno("the userfaultfd of process %d cannot be used", server->hello_pid);
	if (apply(server, slot))
		return -1;
	return adopt(server, server->tasks[server->task_count - 1], fd);
}

static void accept_connection(struct server *server)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	CLEANUP_FD int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || (peer.uid && peer.uid != geteuid())) {
		fail("a process of user %u has connected to %s and is refused, expected root", peer.uid, server->options->socket);
		return;
	}
	if (server->connection >= 0 || server->task_count || server->installer.restored) {
		fail("process %d has connected to %s and is refused: one restore has been connected before", peer.pid,
		     server->options->socket);
		return;
	}
	server->ids_are_ours = are_ids_ours(server, peer.pid);
	if ((notify_available() && notify_store(fd, CONNECTION_NAME)) || watch(server, fd, SOURCE_CONNECTION, 0))
		return;
	server->connection = fd;
	fd = -1;
}

/* ---- the journal when it is full ---- */

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

	for (uint64_t i = 0; i < header->task_count; i++) {
		struct saved_task saved;
		struct task *task;
		struct image *image;

		if ((size_t)(end - at) < sizeof(saved))
			return -1;
		memcpy(&saved, at, sizeof(saved));
		at += sizeof(saved);
		if (saved.region_count > (size_t)(end - at) / sizeof(struct region) || saved.root > i || i >= TASKS_MAX)
			return -1;
		image = find_image(server, saved.image);
		if (!image || saved.bits > image->lazy_pages)
			return -1;
		task = add_task(server);
		task->pid = saved.pid;
		task->done = saved.done;
		task->start_time = saved.start_time;
		task->root = (uint32_t)saved.root;
		task->image = image;
		if (regions_load(&task->regions, (const struct region *)at, saved.region_count, saved.bits))
			return -1;
		at += saved.region_count * sizeof(struct region);
	}
	return 0;
}

static bool in_between(const struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done && regions_expecting(&server->tasks[i]->regions))
			return true;
	return false;
}

/* Room for events again. Not in the middle of what several slots say together, as long as there is room. */
static int renew_journal(struct server *server)
{
	size_t size = saved_size(server);
	CLEANUP_FREE uint8_t *saved = take(size);
	struct journal renewed;

	if ((server->hello_pid || in_between(server)) && server->journal.next + 2 < server->journal.slot_count)
		return 0;
	save_tasks(server, saved);
	if (journal_create(&renewed, server->options->journal, server->snapshot, server->installer.restored, *server->installer.lost,
			   saved, size, server->task_count))
		return -1;
	journal_close(&server->journal);
	server->journal = renewed;
	server->installer.lost = &server->journal.header->lost;
	(void)journal_prepare(&server->journal, SLOT_START, 0);
	journal_commit(&server->journal);
	return 0;
}

/* ---- the loop ---- */

static int dispatch(struct server *server, const struct epoll_event *event)
{
	uint32_t number = (uint32_t)event->data.u64;

	switch (event->data.u64 >> 32) {
	case SOURCE_LISTENER:
		accept_connection(server);
		return 0;
	case SOURCE_CONNECTION:
		if (server->connection < 0)
			return 0;
		return server->hello_pid ? receive_descriptor(server) : receive_hello(server);
	default:
		return server->tasks[number]->done ? 0 : read_events(server, server->tasks[number]);
	}
}

static bool is_drained(const struct task *task)
{
	return !task->regions.left && !task->waiting_count;
}

/*
 * One chunk for a task that needs one; false if none can be served now. The oldest first: what it has already, tasks
 * that it forks later have too.
 */
static bool prefetch(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done || task->blocked || is_drained(task) || !may_prefetch(server, task))
			continue;
		handle(server, task, 0, task_prefetch(&server->installer, task, server->chunk));
		if (server->chunk < CHUNK_MAX)
			server->chunk += CHUNK_STEP;
		return true;
	}
	return false;
}

/* Lets go of tasks that have everything. Returns whether any is left; *ended: of how many. */
static bool end_drained(struct server *server, uint32_t *ended)
{
	bool any = false;

	*ended = 0;
	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		if (task->done)
			continue;
		/* Not while a fork is going on: its child would get a descriptor that nobody has. */
		if (is_drained(task) && !task_unsettled(task)) {
			end_task(server, task);
			++*ended;
			continue;
		}
		if (is_drained(task))
			task->blocked = true;
		any = true;
	}
	return any;
}

static bool any_blocked(const struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done && server->tasks[i]->blocked)
			return true;
	return false;
}

/* Before the whole restore is over, its other parts need the processors more. */
static bool may_begin(struct server *server)
{
	struct stat status;

	if (server->installer.restored && !server->begun) {
		server->begun = !server->options->after || !lstat(server->options->after, &status);
		server->begun_at = seconds_now();
	}
	return server->begun;
}

/* Milliseconds for which nothing comes but what is asked for. */
static int yielding(const struct server *server)
{
	double now = seconds_now(), left = server->fault_at + YIELD_SECONDS - now;

	/* What lies around the fault is still to come. */
	if (server->chunk <= 2 * CHUNK_STEP || now > server->begun_at + YIELDING_SECONDS || left <= 0)
		return 0;
	return (int)(1000 * left) + 1;
}

static int pause_of(const struct server *server, bool busy)
{
	int yields = busy ? yielding(server) : 0;

	if (busy && !yields)
		return 0;
	if (any_blocked(server))
		return RETRY_MILLISECONDS;
	if (yields)
		return yields;
	return server->installer.restored && !server->begun ? AFTER_MILLISECONDS : -1;
}

/* Until all is installed: 0; -1 if serving cannot go on. */
static int run(struct server *server)
{
	struct epoll_event events[64];
	uint32_t ended;
	bool busy = false;

	for (;;) {
		int count = epoll_wait(server->epoll, events, sizeof(events) / sizeof(*events), pause_of(server, busy));

		if (count < 0 && errno != EINTR)
			return fail_errno("the descriptors cannot be waited for");
		for (int i = 0; i < count; i++)
			if (dispatch(server, &events[i]))
				return -1;
		if (retry_blocked(server))
			return -1;
		settle(server);
		if (server->restore_failed)
			return -1;
		if (journal_full(&server->journal) && renew_journal(server))
			return -1;
		if (child_ended && server->keeper > 0) {
			child_ended = 0;
			if (waitpid(server->keeper, NULL, WNOHANG) == server->keeper &&
			    (server->keeper = keeper_start(server->options->journal, server->options->socket)) < 0)
				return -1;
		}
		tell_status(server);
		busy = false;
		if (!may_begin(server))
			continue;
		busy = yielding(server) || prefetch(server);
		if (busy)
			continue;
		if (!end_drained(server, &ended))
			return 0;
		/* Others may have waited for those to have all, see may_prefetch(). */
		busy = ended;
	}
}

/* ---- beginning ---- */

static int read_snapshot(int directory, const char *path, char snapshot[SNAPSHOT_SIZE])
{
	if (snapshot_read(directory, snapshot))
		return fail_errno("%s/%s cannot be read, so no complete dump has been stored there", path, SNAPSHOT_FILE);
	return 0;
}

static int open_store(struct server *server)
{
	const struct serve_options *options = server->options;
	char other[SNAPSHOT_SIZE];

	if ((server->store_dir = open_private_directory(options->store)) < 0)
		return -1;
	if (flock(server->store_dir, LOCK_EX | LOCK_NB))
		return fail_errno("the store %s is in use by another process", options->store);
	if (read_snapshot(server->store_dir, options->store, other))
		return -1;
	if (!faccessat(server->store_dir, UNFINISHED_FILE, F_OK, 0))
		return fail("the last round did not end in the store %s, so what it has is not whole", options->store);
	if (memcmp(server->snapshot, other, SNAPSHOT_SIZE))
		return fail("the images in %s and the store %s are of different snapshots (%.32s, %.32s)", options->images,
			    options->store, server->snapshot, other);
	return 0;
}

static int open_device(struct server *server)
{
	const char *images = server->options->images;

	if (flock(server->images_dir, LOCK_EX | LOCK_NB))
		return fail_errno("the images in %s are in use by another process", images);
	server->installer.device = device_open();
	return server->installer.device < 0 ? -1 : kept_tasks_read(images, &server->kept);
}

static int open_snapshot(struct server *server)
{
	const struct serve_options *options = server->options;

	if ((server->images_dir = open_private_directory(options->images)) < 0 ||
	    read_snapshot(server->images_dir, options->images, server->snapshot))
		return -1;
	return options->store ? open_store(server) : open_device(server);
}

static int open_listener(struct server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(server->options->socket) >= sizeof(address.sun_path))
		return fail("the socket's path %s has more than %zu characters", server->options->socket, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, server->options->socket);
	server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (unlink(server->options->socket) && errno != ENOENT)
		return fail_errno("the old socket %s cannot be deleted", server->options->socket);
	if (server->listener < 0 || bind(server->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(server->options->socket, 0600) || listen(server->listener, 4))
		return fail_errno("the socket %s cannot be made", server->options->socket);
	return notify_available() ? notify_store(server->listener, LISTENER_NAME) : 0;
}

static void receive_descriptors(int fd, const char *name, void *context)
{
	struct server *server = context;
	struct received *received;

	server->received = take_more(server->received, server->received_count + 1, sizeof(*received));
	received = &server->received[server->received_count++];
	received->fd = fd;
	snprintf(received->name, sizeof(received->name), "%s", name);
}

static int take_received(struct server *server, const char *name)
{
	for (size_t i = 0; i < server->received_count; i++)
		if (!strcmp(server->received[i].name, name)) {
			int fd = server->received[i].fd;

			server->received[i].fd = -1;
			return fd;
		}
	return -1;
}

static int begin(struct server *server)
{
	journal_forget_drained(server->options->journal);
	for (size_t i = 0; i < server->received_count; i++)
		if (!strncmp(server->received[i].name, "uffd-", 5))
			return fail("the service manager has passed %s, but there is no journal %s: the application is left waiting",
				    server->received[i].name, server->options->journal);
	if (journal_create(&server->journal, server->options->journal, server->snapshot, false, 0, NULL, 0, 0))
		return -1;
	server->installer.lost = &server->journal.header->lost;
	return 0;
}

static int replay(struct server *server)
{
	server->installer.restored = server->journal.header->restored;
	server->installer.lost = &server->journal.header->lost;
	if (load_tasks(server))
		return fail("the journal %s is damaged", server->options->journal);
	for (uint64_t i = 0; i < server->journal.next; i++)
		if (apply(server, &server->journal.slots[i]))
			return -1;
	return 0;
}

/* The descriptors of the tasks that are not done. Number of tasks whose descriptor is lost. */
static uint32_t attach(struct server *server)
{
	char name[DESCRIPTOR_NAME_SIZE];
	uint32_t lost = 0;

	for (uint32_t i = 0; i < server->task_count; i++) {
		struct task *task = server->tasks[i];

		descriptor_name(name, i);
		task->uffd = take_received(server, name);
		if (task->done) {
			close_fd(&task->uffd);
			notify_forget(name);
			continue;
		}
		if (task->uffd < 0) {
			lost++;
			continue;
		}
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

/* 0 to serve, 1 if there is nothing to go on with, -1 if the application had to be ended. */
static int resume(struct server *server)
{
	uint32_t lost;

	if (memcmp(server->journal.header->snapshot, server->snapshot, SNAPSHOT_SIZE) || replay(server)) {
		fail("the journal %s does not fit the images in %s", server->options->journal, server->options->images);
		if (any_alive(server))
			return -1;
		return 1;
	}
	lost = attach(server);
	if (!lost && (server->task_count || server->received_count))
		return 0;
	if (!any_alive(server))
		return 1;
	fail("the descriptors of %u of %u tasks are gone: what was missing in them reads as zeros now", lost, server->task_count);
	return -1;
}

static void drop_tasks(struct server *server)
{
	for (uint32_t i = 0; i < server->task_count; i++) {
		task_free(server->tasks[i]);
		free(server->tasks[i]);
	}
	server->task_count = 0;
	server->hello_pid = 0;
	server->installer.restored = false;
}

static int watch_all(struct server *server)
{
	if (watch(server, server->listener, SOURCE_LISTENER, 0))
		return -1;
	if (server->connection >= 0 && watch(server, server->connection, SOURCE_CONNECTION, 0))
		return -1;
	for (uint32_t i = 0; i < server->task_count; i++)
		if (!server->tasks[i]->done && watch(server, server->tasks[i]->uffd, SOURCE_TASK, i))
			return -1;
	return 0;
}

/* Whether a predecessor was killed after its work: the journal is gone, and the service manager has the listening socket yet. */
static bool is_over(const struct server *server)
{
	for (size_t i = 0; i < server->received_count; i++)
		if (!strcmp(server->received[i].name, LISTENER_NAME))
			return access(server->options->journal, F_OK) && errno == ENOENT;
	return false;
}

/* Anew, or where a predecessor ended. */
static int start(struct server *server)
{
	int result = journal_open(&server->journal, server->options->journal);

	if (result < 0)
		return -1;
	if (!result) {
		result = resume(server);
		if (result < 0) {
			server->restore_failed = true;
			return -1;
		}
		if (result)
			drop_tasks(server);
		if (result)
			journal_close(&server->journal);
	}
	if (result && begin(server))
		return -1;
	(void)journal_prepare(&server->journal, SLOT_START, 0);
	journal_commit(&server->journal);
	if (notify_available() && (server->keeper = keeper_start(server->options->journal, server->options->socket)) < 0)
		return -1;
	server->connection = take_received(server, CONNECTION_NAME);
	server->listener = take_received(server, LISTENER_NAME);
	if (server->listener < 0 && open_listener(server))
		return -1;
	return watch_all(server);
}

static int tell_end(const struct server *server)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < server->image_count; i++)
		pages += server->images[i]->lazy_pages;
	printf("{\"tasks\": %u, \"lazy_pages\": %" PRIu64 ", \"lost_pages\": %" PRIu64 ", \"seconds\": %.3f}\n", server->task_count, pages,
	       *server->installer.lost, seconds_now() - server->start);
	return fflush(stdout) ? -1 : 0;
}

/*
 * What is left of this process for others: nothing. The service manager drops the listening socket with the service; a process that
 * it starts in between learns from it that there is nothing to do. On a tmpfs alone: the disk of the images may be full by now, or
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

static void free_server(struct server *server)
{
	drop_tasks(server);
	free(server->tasks);
	for (size_t i = 0; i < server->image_count; i++) {
		object_close(&server->images[i]->files);
		runs_free(&server->images[i]->runs);
		runs_free(&server->images[i]->areas);
		free(server->images[i]);
	}
	free(server->images);
	free(server->kept.list);
	free(server->received);
	installer_free(&server->installer);
	journal_close(&server->journal);
	close_fd(&server->listener);
	close_fd(&server->connection);
	close_fd(&server->epoll);
	close_fd(&server->store_dir);
	close_fd(&server->images_dir);
}

/* The exit code, after the loop has ended. */
static int finish(struct server *server, int result)
{
	bool lost;

	if (result) {
		/* Before the restore has ended nobody relies on the application; after it nothing may read zeros. */
		bool restored = server->installer.restored;

		abandon(server);
		(void)clean_up(server, false);
		notify("STATUS=%s", restored ? "the application has been ended, pages were lost" : "the restore has failed");
		return restored ? EXIT_DAMAGED : EXIT_NOT_RESTORED;
	}
	/* The count is in the journal. */
	lost = *server->installer.lost;
	if (tell_end(server) || clean_up(server, !lost))
		return EXIT_FAILED;
	notify("STATUS=%s", lost ? "pages were lost" : "all pages are in place");
	return lost ? EXIT_DAMAGED : EXIT_OK;
}

int serve(const struct serve_options *options)
{
	struct server server = { .options = options,	 .images_dir = -1, .store_dir = -1,   .epoll = -1,
				 .listener = -1,	 .connection = -1, .chunk = CHUNK_STEP };
	struct sigaction child = { .sa_handler = on_child };
	int code;

	server.start = seconds_now();
	/* To be stopped before the end would leave the application without its pages. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigaction(SIGCHLD, &child, NULL);
	installer_init(&server.installer);
	notify_received(receive_descriptors, &server);
	/* The first one that cannot begin has nobody to lose: the restore is to fail at once, not to wait for one that can. */
	code = server.received_count ? EXIT_FAILED : EXIT_NOT_RESTORED;
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server.epoll < 0) {
		fail_errno("no epoll descriptor");
	} else if (!open_snapshot(&server)) {
		if (is_over(&server)) {
			notify("READY=1");
			code = journal_drained(options->journal) ? EXIT_OK : EXIT_DAMAGED;
		} else if (!start(&server)) {
			notify("READY=1");
			code = finish(&server, run(&server));
		} else if (server.restore_failed) {
			code = finish(&server, -1);
		}
	}
	keeper_end(server.keeper);
	free_server(&server);
	return code;
}
