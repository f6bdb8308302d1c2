/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_MAGIC 0x32306c6e6a676470u /* "pdgjnl02" */
/* 1 MiB of events; a full journal is written anew without them. */
#define SLOTS 16384
#define SIZE_MAX_JOURNAL ((size_t)1 << 32)
/* A reserve of slots for what must not fail: the end of tasks. */
#define RESERVE 64
#define PATH_SIZE 4096

/* The path with a suffix. */
static int beside(const char *path, const char *suffix, char name[PATH_SIZE])
{
	if (snprintf(name, PATH_SIZE, "%s.%s", path, suffix) >= PATH_SIZE)
		return fail("the journal's path %s is too long", path);
	return 0;
}

static uint64_t round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static void find_next(struct journal *journal)
{
	journal->next = 0;
	while (journal->next < journal->slot_count && slot_complete(&journal->slots[journal->next]))
		journal->next++;
}

static int map(struct journal *journal, int fd, size_t size)
{
	/* Populated, so that the kernel never has to wait for a page while it writes a slot. */
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (memory == MAP_FAILED)
		return fail_errno("the journal %s cannot be mapped", journal->path);
	journal->header = memory;
	journal->size = size;
	return 0;
}

int journal_open(struct journal *journal, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	uint64_t slots_at;

	*journal = (struct journal){ .path = path };
	if (fd < 0)
		return errno == ENOENT ? 1 : fail_errno("the journal %s cannot be opened", path);
	if (fstat(fd, &status) || (size_t)status.st_size < sizeof(struct journal_header) ||
	    (size_t)status.st_size > SIZE_MAX_JOURNAL)
		return fail("the journal %s has a size that none of this program has", path);
	if (map(journal, fd, (size_t)status.st_size))
		return -1;
	slots_at = sizeof(struct journal_header) + round_up(journal->header->saved_size, sizeof(struct slot));
	if (journal->header->magic != JOURNAL_MAGIC || journal->header->saved_size > journal->size || slots_at > journal->size ||
	    journal->header->slot_count > (journal->size - slots_at) / sizeof(struct slot)) {
		journal_close(journal);
		return fail("the journal %s is not one of this program", path);
	}
	journal->slots = (struct slot *)((char *)journal->header + slots_at);
	journal->slot_count = journal->header->slot_count;
	find_next(journal);
	return 0;
}

int journal_create(struct journal *journal, const char *path, const struct journal_state *state)
{
	uint64_t slots_at = sizeof(struct journal_header) + round_up(state->saved_size, sizeof(struct slot));
	size_t size = slots_at + SLOTS * sizeof(struct slot);
	char draft[PATH_SIZE];

	*journal = (struct journal){ .path = path };
	if (beside(path, "new", draft))
		return -1;
	CLEANUP_FD int fd = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	/* Allocated now: a full tmpfs must be an error here and not a signal later. */
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)size))
		return fail_errno("the journal %s cannot be written", draft);
	if (map(journal, fd, size))
		return -1;
	*journal->header = (struct journal_header){
		.restored = state->restored,
		.saved_count = state->saved_count,
		.task_count = state->task_count,
		.saved_size = state->saved_size,
		.slot_count = SLOTS,
		.lost = state->lost,
		.magic = JOURNAL_MAGIC,
	};
	memcpy(journal->header->snapshot, state->snapshot, SNAPSHOT_SIZE);
	if (state->saved_size)
		memcpy(journal->header + 1, state->saved, state->saved_size);
	journal->slots = (struct slot *)((char *)journal->header + slots_at);
	journal->slot_count = SLOTS;
	/* On a tmpfs a name is as durable as the file: no fsync. */
	if (rename(draft, path)) {
		journal_close(journal);
		return fail_errno("the journal %s cannot be renamed", draft);
	}
	return 0;
}

void journal_close(struct journal *journal)
{
	if (journal->header)
		munmap(journal->header, journal->size);
	journal->header = NULL;
	journal->slots = NULL;
}

int journal_end(struct journal *journal)
{
	char drained[PATH_SIZE];

	journal_close(journal);
	if (beside(journal->path, "drained", drained))
		return -1;
	if (rename(journal->path, drained))
		return fail_errno("the journal %s cannot be renamed", journal->path);
	/* The events in it are of no more use; what counts is the name. */
	(void)!truncate(drained, 0);
	return 0;
}

bool journal_drained(const char *path)
{
	char drained[PATH_SIZE];

	return !beside(path, "drained", drained) && !access(drained, F_OK);
}

void journal_forget_drained(const char *path)
{
	char drained[PATH_SIZE];

	if (!beside(path, "drained", drained))
		(void)unlink(drained);
}

const void *journal_saved(const struct journal *journal)
{
	return journal->header + 1;
}

bool slot_complete(const struct slot *slot)
{
	switch (slot->kind) {
	case SLOT_START:
	case SLOT_DONE:
	case SLOT_SETTLED:
		return true;
	case SLOT_HELLO:
		return slot->hello.pid != 0;
	case SLOT_DESCRIPTOR:
		return slot_descriptor(slot) >= 0;
	case SLOT_EVENT:
		/* A page fault needs no memory: its thread is woken and faults again. */
		return slot->event.event && slot->event.event != UFFD_EVENT_PAGEFAULT;
	default:
		return false;
	}
}

int slot_descriptor(const struct slot *slot)
{
	const struct cmsghdr *control = (const struct cmsghdr *)slot->descriptor.control;
	int fd;

	if (slot->kind == SLOT_EVENT && slot->event.event == UFFD_EVENT_FORK)
		return (int)slot->event.arg.fork.ufd;
	if (slot->kind != SLOT_DESCRIPTOR || control->cmsg_len != CMSG_LEN(sizeof(int)) || control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

struct slot *journal_prepare(struct journal *journal, enum slot_kind kind, uint32_t task)
{
	struct slot *slot = journal->next < journal->slot_count ? &journal->slots[journal->next] : NULL;

	if (!slot)
		return NULL;
	memset(slot->content, 0, sizeof(slot->content));
	slot->task = task;
	/* The content must be empty before the kind says that it will come. */
	__atomic_store_n(&slot->kind, kind, __ATOMIC_RELEASE);
	return slot;
}

void journal_commit(struct journal *journal)
{
	journal->next++;
}

void journal_drop(struct journal *journal)
{
	__atomic_store_n(&journal->slots[journal->next].kind, SLOT_FREE, __ATOMIC_RELEASE);
}

bool journal_full(const struct journal *journal)
{
	return journal->next + RESERVE >= journal->slot_count;
}
