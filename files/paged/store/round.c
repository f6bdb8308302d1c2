/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One round of a dump: CRIU's page server on an inherited socket. Content goes into the flat files. What the round says about an address
 * replaces what earlier rounds said.
 */
#include "store/round.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "images/pagemap.h"
#include "images/snapshot_id.h"
#include "page_server/peer.h"
#include "store/flat_file.h"
#include "store/restore_images.h"
#include "store/writer.h"

#define RUNS_MAX ((size_t)1 << 24)
/* Sums that are looked at in one go. */
#define SUMS_BATCH 8192

struct round_object {
	enum object_type type;
	uint64_t id;
	struct runs runs;
};

struct round {
	const struct store_options *options;
	struct peer peer;
	int images;
	int store;
	/* CRIU has sent everything and waits for the outcome. */
	bool finishing;
	struct round_object *objects;
	size_t object_count;
	/* Of the object that pages are being received for; index into objects. */
	size_t current;
	struct object files;
	struct writer writer;
	size_t run_count;
	uint64_t pages, parent_pages;
	struct restore_images restore;
	uint64_t *sums;
};

static int lost(struct round *round, enum object_type type, uint64_t id, const char *what)
{
	int reason = errno;

	if (reason == ENOSPC || reason == EDQUOT)
		return fail("the store %s is full after %" PRIu64 " pages of this round: free space or choose another place",
			    round->options->store, round->pages);
	errno = reason;
	return fail_errno("%s %" PRIu64 " in the store %s cannot be %s", type_name(type), id, round->options->store, what);
}

static int lost_disk(struct round *round, const char *what)
{
	return lost(round, round->files.type, round->files.id, what);
}

/* The chunk that could not be written may have been received long before. */
static int lost_chunk(struct round *round)
{
	const struct chunk *chunk = &round->writer.chunks[round->writer.done % WRITER_CHUNKS];

	return round->writer.error ? lost(round, chunk->type, chunk->id, "written") : fail_errno("no thread for writing");
}

static struct round_object *find_object(struct round *round, enum object_type type, uint64_t id)
{
	if (round->current < round->object_count && round->objects[round->current].type == type &&
	    round->objects[round->current].id == id)
		return &round->objects[round->current];
	for (size_t i = 0; i < round->object_count; i++)
		if (round->objects[i].type == type && round->objects[i].id == id)
			return &round->objects[i];
	return NULL;
}

static int enter_object(struct round *round, struct round_object *object)
{
	size_t index = (size_t)(object - round->objects);

	if (round->current == index && round->files.id == object->id && round->files.type == object->type)
		return 0;
	object_close(&round->files);
	round->current = index;
	object_init(&round->files, round->store, object->type, object->id, true);
	return 0;
}

static int open_object(struct round *round, const struct wire_request *request)
{
	struct round_object *object = find_object(round, request->type, request->id);
	/* A parent lets CRIU leave out pages that have not changed; check_parent() checks each of these runs. */
	uint8_t has_parent = object_exists(round->store, request->type, request->id);

	if (object)
		return fail("the page stream opens %s %" PRIu64 " twice", type_name(request->type), request->id);
	if (round->object_count == OBJECTS_MAX)
		return fail("the page stream has more than %d objects", OBJECTS_MAX);
	round->objects = take_more(round->objects, round->object_count + 1, sizeof(*round->objects));
	object = &round->objects[round->object_count++];
	*object = (struct round_object){ .type = request->type, .id = request->id };
	if (enter_object(round, object))
		return -1;
	return peer_answer(&round->peer, &has_parent, sizeof(has_parent));
}

static int answer_parent(struct round *round, const struct wire_request *request)
{
	int32_t has_parent = object_exists(round->store, request->type, request->id);

	return peer_answer(&round->peer, &has_parent, sizeof(has_parent));
}

/* The content of a run within one segment. */
static int receive_content(struct round *round, uint64_t address, uint64_t pages, bool direct)
{
	while (pages) {
		struct chunk *chunk = writer_next(&round->writer);

		if (!chunk)
			return lost_chunk(round);
		chunk->type = round->files.type;
		chunk->id = round->files.id;
		chunk->address = address;
		chunk->pages = pages < CHUNK_PAGES ? pages : CHUNK_PAGES;
		chunk->direct = direct;
		if (peer_content(&round->peer, chunk->content, chunk->pages * PAGE_SIZE))
			return -1;
		address += chunk->pages * PAGE_SIZE;
		pages -= chunk->pages;
		writer_add(&round->writer);
	}
	return 0;
}

/* A run without content, because an earlier round has it. All in one segment. */
static int check_parent(struct round *round, uint64_t address, uint64_t pages)
{
	while (pages) {
		uint64_t count = pages < SUMS_BATCH ? pages : SUMS_BATCH;

		if (object_read_sums(&round->files, address, round->sums, count))
			return lost_disk(round, "read");
		for (uint64_t i = 0; i < count; i++)
			if (!round->sums[i])
				return fail("%s %" PRIu64 " leaves out the page at 0x%" PRIx64
					    " as unchanged, but no earlier round in %s has it",
					    type_name(round->files.type), round->files.id, address + i * PAGE_SIZE,
					    round->options->store);
		address += count * PAGE_SIZE;
		pages -= count;
	}
	return 0;
}

static int receive_run(struct round *round, const struct wire_request *request)
{
	struct round_object *object = find_object(round, request->type, request->id);
	uint64_t address = request->address, left = request->pages;

	if (!object)
		return fail("the page stream has pages of %s %" PRIu64 " that it never opened", type_name(request->type),
			    request->id);
	if (enter_object(round, object))
		return -1;
	if (round->pages + round->parent_pages + left > PAGES_MAX || round->run_count++ >= RUNS_MAX)
		return fail("the page stream has more than %" PRIu64 " pages or %zu runs", PAGES_MAX, RUNS_MAX);
	*(request->flags & PE_PARENT ? &round->parent_pages : &round->pages) += left;
	runs_add(&object->runs, address, left, request->flags);
	while (left) {
		uint64_t count = segment_rest(address, left);

		if (request->flags & PE_PARENT) {
			if (check_parent(round, address, count))
				return -1;
		} else if (receive_content(round, address, count, request->flags & PE_LAZY)) {
			return -1;
		}
		address += count * PAGE_SIZE;
		left -= count;
	}
	return 0;
}

/* Pages between the runs are dead: the task has given them back. */
static int forget_dead_pages(struct round *round, const struct round_object *object)
{
	uint64_t end = 0;

	for (size_t i = 0; i < object->runs.count; i++) {
		if (object_forget(&round->files, end, object->runs.list[i].address))
			return lost_disk(round, "cleared");
		end = run_end(&object->runs.list[i]);
	}
	return object_forget(&round->files, end, ADDRESS_END) ? lost_disk(round, "cleared") : 0;
}

static int delete_unmentioned(const struct object_file *file, void *context)
{
	struct round *round = context;

	return find_object(round, file->type, file->id) ? 0 : unlinkat(file->directory, file->name, 0);
}

static int await_file(const struct object_file *file, void *context)
{
	CLEANUP_FD int fd = openat(file->directory, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	(void)context;
	return fd < 0 ? -1 : wait_for_disk(fd);
}

/* One commit of the file system for all files, or each file would wait for the disk by itself. */
static int sync_round(struct round *round)
{
	if (object_each_file(round->store, await_file, NULL) || syncfs(round->store))
		return fail_errno("the round cannot be synced to the store %s", round->options->store);
	if (round->options->last && syncfs(round->images))
		return fail_errno("the images cannot be synced to %s", round->options->images);
	return 0;
}

static int write_snapshot_id(struct round *round)
{
	char text[SNAPSHOT_SIZE + 1];

	if (snapshot_new(text) || snapshot_write(round->images, text) || snapshot_write(round->store, text))
		return fail_errno("the snapshot's name cannot be written to %s and %s", round->options->images,
				  round->options->store);
	return 0;
}

static int finish_object(struct round *round, struct round_object *object)
{
	uint32_t pages_id = PAGES_ID_BASE + (uint32_t)(object - round->objects);

	if (enter_object(round, object))
		return -1;
	if (!round->options->last)
		return forget_dead_pages(round, object);
	return restore_images_write(&round->restore, &round->files, &object->runs, pages_id);
}

/* All pages have come: makes the round true, or says why it is not. */
static int finish_round(struct round *round)
{
	if (writer_wait(&round->writer))
		return lost_chunk(round);
	for (size_t i = 0; i < round->object_count; i++)
		if (runs_sort(&round->objects[i].runs))
			return fail("the page stream mentions pages of %s %" PRIu64 " twice", type_name(round->objects[i].type),
				    round->objects[i].id);
	for (size_t i = 0; i < round->object_count; i++)
		if (finish_object(round, &round->objects[i]))
			return -1;
	object_close(&round->files);
	if (!round->options->last && object_each_file(round->store, delete_unmentioned, round))
		return fail_errno("the files of ended tasks cannot be deleted in %s", round->options->store);
	if (sync_round(round) || (round->options->last && write_snapshot_id(round)))
		return -1;
	if (unlinkat(round->store, UNFINISHED_FILE, 0))
		return fail_errno("the end of the round cannot be recorded in %s", round->options->store);
	return 0;
}

static int serve_requests(struct round *round)
{
	struct wire_request request;
	int result;

	for (;;) {
		if (peer_request(&round->peer, &request))
			return -1;
		switch (request.command) {
		case PS_OPEN2:
			result = open_object(round, &request);
			break;
		case PS_PARENT:
			result = answer_parent(round, &request);
			break;
		case PS_ADD_F:
			result = receive_run(round, &request);
			break;
		case PS_CLOSE:
		case PS_FORCE_CLOSE:
			round->finishing = true;
			return finish_round(round);
		}
		if (result)
			return -1;
	}
}

static int delete_any(const struct object_file *file, void *context)
{
	(void)context;
	return unlinkat(file->directory, file->name, 0);
}

static int claim_store(struct round *round)
{
	CLEANUP_FD int marker = -1;

	if (flock(round->store, LOCK_EX | LOCK_NB))
		return fail_errno("the store %s is in use by another process", round->options->store);
	if (round->options->first) {
		if (object_each_file(round->store, delete_any, NULL) ||
		    (unlinkat(round->store, UNFINISHED_FILE, 0) && errno != ENOENT))
			return fail_errno("the earlier snapshot in %s cannot be deleted", round->options->store);
	} else if (!faccessat(round->store, UNFINISHED_FILE, F_OK, 0)) {
		return fail(
			"an earlier round did not end in the store %s, and CRIU will not send its pages again: begin anew with --first",
			round->options->store);
	}
	/* From here on the images of the last snapshot do not describe this store any more. */
	if (unlinkat(round->store, SNAPSHOT_FILE, 0) && errno != ENOENT)
		return fail_errno("the earlier snapshot's name in %s cannot be deleted", round->options->store);
	marker = openat(round->store, UNFINISHED_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (marker < 0 || fsync(round->store))
		return fail_errno("the store %s cannot be written", round->options->store);
	return 0;
}

static int open_round(struct round *round)
{
	const struct store_options *options = round->options;

	if (peer_open(&round->peer))
		return -1;
	if (options->last && (round->images = open_private_directory(options->images)) < 0)
		return -1;
	if ((round->store = open_private_directory(options->store)) < 0 || claim_store(round))
		return -1;
	round->writer.store = round->store;
	round->restore =
		(struct restore_images){ .directory = round->images, .path = options->images, .store_path = options->store };
	round->sums = take(SUMS_BATCH * sizeof(*round->sums));
	return 0;
}

static void close_round(struct round *round)
{
	writer_end(&round->writer);
	object_close(&round->files);
	for (size_t i = 0; i < round->object_count; i++)
		runs_free(&round->objects[i].runs);
	free(round->objects);
	free(round->sums);
	close_fd(&round->store);
	close_fd(&round->images);
}

int store_round(const struct store_options *options)
{
	struct round round = { .options = options, .peer = PEER(options->socket), .images = -1, .store = -1 };
	double start = seconds_now();
	int32_t status;
	int result;

	writer_init(&round.writer, -1);
	result = open_round(&round) ? -1 : serve_requests(&round);
	status = result;
	/* CRIU waits for this only at the end; in the middle it learns of an error by the end of the connection. */
	if (round.finishing && peer_answer(&round.peer, &status, sizeof(status)))
		result = -1;
	/* Another process may hold this end of the socket as well. */
	(void)shutdown(options->socket, SHUT_RDWR);
	if (!result)
		printf("{\"pages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"parent_pages\": %" PRIu64 ", \"lazy_pages\": %" PRIu64
		       ", \"eager_pages\": %" PRIu64 ", \"objects\": %zu, \"header_bytes\": %d, \"seconds\": %.3f}\n",
		       round.pages, round.pages * PAGE_SIZE, round.parent_pages, round.restore.lazy_pages,
		       round.restore.eager_pages, round.object_count, round.peer.form, seconds_now() - start);
	close_round(&round);
	return result || fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
