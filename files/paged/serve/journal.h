/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that the kernel tells this process once. The system calls that receive it (read(2) of a userfaultfd, recvmsg(2) of CRIU's
 * connection) write straight into this shared mapping on a tmpfs, so that nothing is lost if the process is killed before it has looked.
 * A slot's kind and task are written before the call, its content by the kernel; a slot without content is the end. A successor replays
 * the slots in their order.
 *
 * Tasks are numbered in the order in which their descriptors came: by CRIU's message or by a fork event.
 */
#ifndef PAGED_JOURNAL_H
#define PAGED_JOURNAL_H

#include <linux/userfaultfd.h>
#include <sys/socket.h>

#include "base/pages.h"
#include "images/snapshot_id.h"
#include "serve/regions.h"

enum slot_kind {
	SLOT_FREE = 0,
	/* A process has begun to write: descriptor numbers before this slot were another process's. */
	SLOT_START,
	/* CRIU's message: a process id, or that the restore has finished. */
	SLOT_HELLO,
	/* CRIU's message with a userfaultfd, for the process of the last hello. */
	SLOT_DESCRIPTOR,
	SLOT_EVENT,
	/* The task has all its pages. */
	SLOT_DONE,
	/* The kernel had no events of this task to report. */
	SLOT_SETTLED,
};

struct slot {
	uint32_t kind;
	uint32_t task;
	union {
		struct uffd_msg event;
		struct {
			int32_t pid;
			uint32_t unused;
			/* Of the process, in clock ticks since boot (/proc/PID/stat): tells it from a later one. */
			uint64_t start_time;
		} hello;
		struct {
			char control[CMSG_SPACE(sizeof(int))];
			char byte;
		} descriptor;
		uint8_t content[56];
	};
};
_Static_assert(sizeof(struct slot) == 64, "slots are one cache line");

/* A task in a journal that was written anew; its regions follow it. */
struct saved_task {
	int32_t pid;
	uint32_t done;
	uint64_t image;
	uint64_t start_time;
	uint64_t number;
	uint64_t root;
	uint64_t bits;
	uint64_t region_count;
};

struct journal_header {
	uint64_t magic;
	char snapshot[SNAPSHOT_SIZE];
	uint8_t restored;
	uint8_t unused[6];
	/* Tasks that had come before the first slot. */
	uint64_t task_count;
	/* Bytes of saved tasks behind the header; the slots begin at the next multiple of 64 after it. */
	uint64_t saved_size;
	uint64_t slot_count;
	/* Pages that could not be served. */
	uint64_t lost;
	/* Saved tasks: those that were not forgotten. */
	uint64_t saved_count;
	uint64_t more[5];
};
_Static_assert(sizeof(struct journal_header) == 128, "the saved tasks are aligned");

struct journal {
	const char *path;
	struct journal_header *header;
	size_t size;
	struct slot *slots;
	uint64_t slot_count;
	/* The first slot without content. */
	uint64_t next;
};

/* Maps the journal: 0; 1 if there is none; -1 after saying what is wrong with it. */
int journal_open(struct journal *journal, const char *path);
/* What a new journal begins with. */
struct journal_state {
	/* The snapshot's id, SNAPSHOT_SIZE bytes. */
	const char *snapshot;
	bool restored;
	/* Pages that could not be served. */
	uint64_t lost;
	/* Saved tasks, the bytes that they take, and their number. */
	const void *saved;
	uint64_t saved_size;
	uint64_t saved_count;
	/* Tasks that have come. */
	uint64_t task_count;
};

/* Makes a new journal in place of an old one. -1 after saying why not. */
int journal_create(struct journal *journal, const char *path, const struct journal_state *state);
void journal_close(struct journal *journal);
/* All is done and no page was lost: PATH.drained, an empty file, takes the journal's place. -1 after saying why not. */
int journal_end(struct journal *journal);
/* Whether there is the file that journal_end() leaves. */
bool journal_drained(const char *path);
/* Deletes that file. */
void journal_forget_drained(const char *path);
/* The tasks that were saved, behind the header. */
const void *journal_saved(const struct journal *journal);

/* Whether the kernel has written the slot's content. */
bool slot_complete(const struct slot *slot);
/* The descriptor that the kernel has put into a complete SLOT_DESCRIPTOR or fork event, or -1. */
int slot_descriptor(const struct slot *slot);

/* The next slot, prepared for the kernel to write its content; NULL if the journal is full. */
struct slot *journal_prepare(struct journal *journal, enum slot_kind kind, uint32_t task);
/* The prepared slot has its content. */
void journal_commit(struct journal *journal);
/* The prepared slot is not needed: empties it. */
void journal_drop(struct journal *journal);
/* Whether only the reserve for the end of tasks is left. */
bool journal_full(const struct journal *journal);

#endif
