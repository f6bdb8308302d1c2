/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dump of a tree whose pages stay in their page frames. This is CRIU's page server: it notes which pages there are, and drops what
 * they hold. A line on standard input says that the tree stands still for good; then the kernel module takes the frames. The few pages
 * that cannot stay are read from the processes and written into CRIU's own images.
 */
#include "frames/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames/frame_tasks.h"
#include "frames/record_task.h"
#include "images/core.h"
#include "images/pagemap.h"
#include "images/snapshot_id.h"
#include "page_server/peer.h"
#include "page_server/sink.h"
#include "page_server/soft_dirty.h"

/* Pages of shared memory that are received at once. */
#define BATCH 64

/* A task or a piece of shared memory. */
struct object {
	enum object_type type;
	uint64_t id;
	struct runs runs;
	/* Its pages image: of shared memory all content, of a task what cannot stay. */
	int content;
	struct recorded recorded;
};

struct dump_session {
	const struct record_options *options;
	struct peer peer;
	int images;
	struct sink sink;
	struct object *objects;
	size_t object_count;
	/* Pages of the stream; of these, those of shared memory, and those of tasks whose content came nevertheless. */
	uint64_t received, shared, dropped;
	uint8_t *buffer;
};

static struct object *find_object(struct dump_session *session, enum object_type type, uint64_t id)
{
	/* Pages come for the object that was opened last. */
	for (size_t i = session->object_count; i--;)
		if (session->objects[i].type == type && session->objects[i].id == id)
			return &session->objects[i];
	return NULL;
}

static uint32_t pages_id(const struct dump_session *session, const struct object *object)
{
	return PAGES_ID_BASE + (uint32_t)(object - session->objects);
}

/* Once CRIU has this answer it asks the kernel which pages of the task there are, and which have been written to. */
static int open_object(struct dump_session *session, const struct wire_request *request)
{
	/* A parent lets CRIU leave out the content of pages that have not been written to since: nearly all. */
	uint8_t has_parent = request->type == OBJECT_TASK;
	struct object *object;

	if (find_object(session, request->type, request->id))
		return fail("the page stream opens %s %" PRIu64 " twice", type_name(request->type), request->id);
	if (session->object_count == OBJECTS_MAX)
		return fail("the page stream has more than %d objects", OBJECTS_MAX);
	session->objects = take_more(session->objects, session->object_count + 1, sizeof(*session->objects));
	object = &session->objects[session->object_count++];
	*object = (struct object){ .type = request->type, .id = request->id, .content = -1 };
	object->content = pages_create(session->images, pages_id(session, object));
	if (object->content < 0)
		return -1;
	if (session->options->clear_soft_dirty && request->type == OBJECT_TASK && clear_soft_dirty(request->id))
		return -1;
	return peer_answer(&session->peer, &has_parent, sizeof(has_parent));
}

static int answer_parent(struct dump_session *session, const struct wire_request *request)
{
	int32_t has_parent = request->type == OBJECT_TASK;

	return peer_answer(&session->peer, &has_parent, sizeof(has_parent));
}

/* Of a huge page CRIU sends all if any of it was written to, so the content of a task is dropped without a copy. */
static int receive_content(struct dump_session *session, const struct object *object, uint64_t pages)
{
	if (object->type == OBJECT_TASK) {
		session->dropped += pages;
		return sink_drop(&session->sink, session->options->socket, pages * PAGE_SIZE);
	}
	while (pages) {
		uint64_t count = pages < BATCH ? pages : BATCH;

		if (peer_content(&session->peer, session->buffer, count * PAGE_SIZE))
			return -1;
		if (write_all(object->content, session->buffer, count * PAGE_SIZE))
			return fail_errno("the images in %s cannot be written", session->options->images);
		pages -= count;
	}
	return 0;
}

static int receive_run(struct dump_session *session, const struct wire_request *request)
{
	struct object *object = find_object(session, request->type, request->id);
	bool is_task = request->type == OBJECT_TASK;

	if (!object)
		return fail("the page stream has pages of %s %" PRIu64 " that it never opened", type_name(request->type),
			    request->id);
	if (request->flags & PE_PARENT && !is_task)
		return fail("the page stream leaves out pages of shared memory %" PRIu64 " as unchanged, expected all of them",
			    request->id);
	if (session->received + request->pages > PAGES_MAX)
		return fail("the page stream has more than %" PRIu64 " pages", PAGES_MAX);
	session->received += request->pages;
	session->shared += is_task ? 0 : request->pages;
	runs_add(&object->runs, request->address, request->pages, PE_PRESENT);
	return request->flags & PE_PARENT ? 0 : receive_content(session, object, request->pages);
}

static int finish_stream(struct dump_session *session)
{
	for (size_t i = 0; i < session->object_count; i++)
		if (runs_sort(&session->objects[i].runs))
			return fail("the page stream mentions pages of %s %" PRIu64 " twice", type_name(session->objects[i].type),
				    session->objects[i].id);
	return 0;
}

/* All that CRIU sends. CRIU has its answer when this returns. */
static int serve_requests(struct dump_session *session)
{
	struct wire_request request;
	int32_t status;
	int result = 0;

	while (!result) {
		if (peer_request(&session->peer, &request))
			return -1;
		switch (request.command) {
		case PS_OPEN2:
			result = open_object(session, &request);
			break;
		case PS_PARENT:
			result = answer_parent(session, &request);
			break;
		case PS_ADD_F:
			result = receive_run(session, &request);
			break;
		case PS_CLOSE:
		case PS_FORCE_CLOSE:
			status = finish_stream(session);
			return peer_answer(&session->peer, &status, sizeof(status)) ? -1 : status;
		}
	}
	return -1;
}

/* The line that says that the tree stands still for good, and from which number on its tasks are named. */
static int await_first_number(uint32_t *first)
{
	char line[32], *end;
	unsigned long number;

	if (!fgets(line, sizeof(line), stdin))
		return fail("the dump was given up before its frames were recorded");
	number = strtoul(line, &end, 10);
	if (end == line || *end != '\n' || number > INT32_MAX - OBJECTS_MAX)
		return fail("standard input said '%s', expected the first task's number", line);
	*first = (uint32_t)number;
	return 0;
}

static int record_objects(struct dump_session *session, uint32_t first)
{
	struct recorder recorder;
	int result = recorder_open(&recorder, session->images, session->options->lazy);

	for (size_t i = 0; !result && i < session->object_count; i++) {
		struct object *object = &session->objects[i];

		if (object->type == OBJECT_TASK)
			result = record_task(&recorder, object->id, (uint32_t)(first + i), object->content, &object->runs,
					     &object->recorded);
		if (!result)
			result = pagemap_write(session->images, object->type, object->id, pages_id(session, object), &object->runs);
	}
	recorder_close(&recorder);
	return result;
}

static int write_tasks(const struct dump_session *session, uint32_t first)
{
	CLEANUP_FREE char *text = take(session->object_count * FRAME_TASK_LINE_MAX + 1);
	size_t size = 0;

	for (size_t i = 0; i < session->object_count; i++) {
		const struct object *object = &session->objects[i];
		const struct frame_task task = {
			.pid = (int32_t)object->id,
			.number = (uint32_t)(first + i),
			.pages = object->recorded.pages - object->recorded.lazy,
			.lazy_pages = object->recorded.lazy,
		};
		struct core core;

		if (object->type != OBJECT_TASK)
			continue;
		if (core_read(session->images, object->id, &core))
			return -1;
		size += (size_t)frame_task_print(text + size, &task, core.stopped);
	}
	return replace_file(session->images, TASKS_FILE, text, size) ? fail_errno("the list of tasks cannot be written") : 0;
}

static int write_snapshot_id(const struct dump_session *session)
{
	char text[SNAPSHOT_SIZE + 1];

	if (snapshot_new(text) || snapshot_write(session->images, text))
		return fail_errno("the snapshot's name cannot be written to %s", session->options->images);
	return 0;
}

static int print_statistics(const struct dump_session *session, double seconds)
{
	struct recorded sum = { 0 };

	for (size_t i = 0; i < session->object_count; i++) {
		sum.pages += session->objects[i].recorded.pages;
		sum.lazy += session->objects[i].recorded.lazy;
		sum.fetched += session->objects[i].recorded.fetched;
		sum.copied += session->objects[i].recorded.copied;
	}
	printf("{\"objects\": %zu, \"kept_pages\": %" PRIu64 ", \"lazy_pages\": %" PRIu64 ", \"image_pages\": %" PRIu64
	       ", \"shared_pages\": %" PRIu64 ", \"fetched_pages\": %" PRIu64 ", \"dropped_pages\": %" PRIu64
	       ", \"seconds\": %.3f}\n",
	       session->object_count, sum.pages, sum.lazy, sum.copied, session->shared, sum.fetched, session->dropped, seconds);
	return fflush(stdout) ? -1 : 0;
}

static int open_session(struct dump_session *session)
{
	session->buffer = take(BATCH * PAGE_SIZE);
	if (peer_open(&session->peer))
		return -1;
	session->images = open_private_directory(session->options->images);
	return session->images < 0 ? -1 : sink_open(&session->sink);
}

static void close_session(struct dump_session *session)
{
	for (size_t i = 0; i < session->object_count; i++) {
		runs_free(&session->objects[i].runs);
		close_fd(&session->objects[i].content);
	}
	free(session->objects);
	free(session->buffer);
	close_fd(&session->images);
	sink_close(&session->sink);
}

static int record_frames(struct dump_session *session)
{
	uint32_t first = 0;
	double start;

	if (await_first_number(&first))
		return -1;
	start = seconds_now();
	if (record_objects(session, first) || write_tasks(session, first) || write_snapshot_id(session))
		return -1;
	return print_statistics(session, seconds_now() - start);
}

int record_tree(const struct record_options *options)
{
	struct dump_session session = { .options = options, .peer = PEER(options->socket), .images = -1, .sink = SINK_CLOSED };
	int result = open_session(&session) ? -1 : serve_requests(&session);

	(void)shutdown(options->socket, SHUT_RDWR);
	if (!result)
		result = record_frames(&session);
	close_session(&session);
	return result ? EXIT_FAILED : EXIT_OK;
}
