/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dump of a tree whose pages stay in their page frames: CRIU's page server that takes note of which pages there are, and
 * drops what they hold. When a line on standard input says that the tree stands still for good, the kernel module takes the
 * frames; the few pages that cannot stay are read from the processes and written into CRIU's own images.
 */
#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"
#include "images.h"
#include "kept_tasks.h"
#include "peer.h"
#include "snapshot_id.h"

#define BATCH 64
#define SINK_SIZE (1 << 20)
/* More than the frame of a signal takes, with the largest registers that there are. */
#define SIGNAL_FRAME (16 * 1024)

struct kept {
	enum object_type type;
	uint64_t id;
	struct runs runs;
	/* The image for content: of shared memory, or of what cannot stay. */
	int content;
	/* Of these pages, those that are put back when they are needed. */
	uint64_t recorded, lazy;
};

struct keeping {
	const struct keep_options *options;
	struct peer peer;
	int images, device;
	/* A pipe into /dev/null. */
	int sink[2], null;
	struct kept *objects;
	size_t object_count;
	uint64_t received, recorded, lazy, fetched, copied, shared;
	/* Pages of tasks whose content came nevertheless. */
	uint64_t dropped;
	/* A page is read here on its way into an image. */
	uint8_t *buffer;
	struct kup_ppp_range *ranges;
};

static struct kept *find(struct keeping *keeping, enum object_type type, uint64_t id)
{
	/* The last one first: that is the one that pages come for. */
	for (size_t i = keeping->object_count; i--;)
		if (keeping->objects[i].type == type && keeping->objects[i].id == id)
			return &keeping->objects[i];
	return NULL;
}

static uint32_t pages_id(const struct keeping *keeping, const struct kept *object)
{
	return PAGES_ID_BASE + (uint32_t)(object - keeping->objects);
}

static int clear_soft_dirty(uint64_t task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/clear_refs", task);
	CLEANUP_FD int file = open(path, O_WRONLY | O_CLOEXEC);

	/* 4: the soft-dirty bits, Documentation/filesystems/proc.rst. */
	if (file < 0 || write(file, "4", 1) != 1)
		return fail_errno("%s cannot be written", path);
	return 0;
}

/* CRIU asks the kernel which pages of a task there are, and which have been written to, once it has its answer to this. */
static int open_object(struct keeping *keeping, const struct wire_request *request)
{
	/* So CRIU leaves out the content of pages that have not changed since its parent: nearly all. */
	uint8_t has_parent = request->type == OBJECT_TASK;
	struct kept *object;

	if (find(keeping, request->type, request->id))
		return fail("the page stream opens %s %" PRIu64 " twice", type_name(request->type), request->id);
	if (keeping->object_count == OBJECTS_MAX)
		return fail("the page stream has more than %d objects", OBJECTS_MAX);
	keeping->objects = take_more(keeping->objects, keeping->object_count + 1, sizeof(*keeping->objects));
	object = &keeping->objects[keeping->object_count++];
	*object = (struct kept){ .type = request->type, .id = request->id, .content = -1 };
	object->content = pages_create(keeping->images, pages_id(keeping, object));
	if (object->content < 0)
		return -1;
	if (keeping->options->clear_soft_dirty && request->type == OBJECT_TASK && clear_soft_dirty(request->id))
		return -1;
	return peer_answer(&keeping->peer, &has_parent, sizeof(has_parent));
}

static int answer_parent(struct keeping *keeping, const struct wire_request *request)
{
	int32_t has_parent = request->type == OBJECT_TASK;

	return peer_answer(&keeping->peer, &has_parent, sizeof(has_parent));
}

static int open_sink(struct keeping *keeping)
{
	keeping->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (keeping->null < 0 || pipe2(keeping->sink, O_CLOEXEC))
		return fail_errno("/dev/null or a pipe into it cannot be opened");
	/* Works with the smaller one as well. */
	(void)fcntl(keeping->sink[1], F_SETPIPE_SZ, SINK_SIZE);
	return 0;
}

/*
 * Of a task it is not needed: its pages stay where they are. Of a huge page all comes if any of it was written to, so nothing is
 * copied here: CRIU's references on the pages go into the pipe, and away.
 */
static int drop_content(struct keeping *keeping, uint64_t bytes)
{
	uint64_t in_pipe = 0;

	while (bytes || in_pipe) {
		ssize_t moved = in_pipe ? splice(keeping->sink[0], NULL, keeping->null, NULL, in_pipe, 0) :
					  splice(keeping->options->socket, NULL, keeping->sink[1], NULL, bytes, 0);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return fail_errno("the page stream cannot be read");
		if (!moved)
			return fail("the page stream ends in the middle of a run: CRIU has given up");
		if (in_pipe) {
			in_pipe -= (uint64_t)moved;
		} else {
			bytes -= (uint64_t)moved;
			in_pipe = (uint64_t)moved;
		}
	}
	return 0;
}

static int receive_content(struct keeping *keeping, const struct kept *object, uint64_t pages)
{
	if (object->type == OBJECT_TASK) {
		keeping->dropped += pages;
		return drop_content(keeping, pages * PAGE_SIZE);
	}
	while (pages) {
		uint64_t count = pages < BATCH ? pages : BATCH;

		if (peer_content(&keeping->peer, keeping->buffer, count * PAGE_SIZE))
			return -1;
		if (write_all(object->content, keeping->buffer, count * PAGE_SIZE))
			return fail_errno("the images in %s cannot be written", keeping->options->images);
		pages -= count;
	}
	return 0;
}

static int receive_run(struct keeping *keeping, const struct wire_request *request)
{
	struct kept *object = find(keeping, request->type, request->id);
	bool is_task = request->type == OBJECT_TASK;

	if (!object)
		return fail("the page stream has pages of %s %" PRIu64 " that it never opened", type_name(request->type),
			    request->id);
	if (request->flags & PE_PARENT && !is_task)
		return fail("the page stream leaves out pages of shared memory %" PRIu64 " as unchanged, expected all of them",
			    request->id);
	if (keeping->received + request->pages > PAGES_MAX)
		return fail("the page stream has more than %" PRIu64 " pages", PAGES_MAX);
	keeping->received += request->pages;
	keeping->shared += is_task ? 0 : request->pages;
	runs_add(&object->runs, request->address, request->pages, PE_PRESENT);
	return request->flags & PE_PARENT ? 0 : receive_content(keeping, object, request->pages);
}

static int finish_stream(struct keeping *keeping)
{
	for (size_t i = 0; i < keeping->object_count; i++)
		if (runs_sort(&keeping->objects[i].runs))
			return fail("the page stream mentions pages of %s %" PRIu64 " twice",
				    type_name(keeping->objects[i].type), keeping->objects[i].id);
	return 0;
}

/* All that CRIU sends; it has its answer when this returns. */
static int serve_requests(struct keeping *keeping)
{
	struct wire_request request;
	int32_t status;
	int result = 0;

	while (!result) {
		if (peer_request(&keeping->peer, &request))
			return -1;
		switch (request.command) {
		case PS_OPEN2:
			result = open_object(keeping, &request);
			break;
		case PS_PARENT:
			result = answer_parent(keeping, &request);
			break;
		case PS_ADD_F:
			result = receive_run(keeping, &request);
			break;
		case PS_CLOSE:
		case PS_FORCE_CLOSE:
			status = finish_stream(keeping);
			return peer_answer(&keeping->peer, &status, sizeof(status)) ? -1 : status;
		}
	}
	return -1;
}

static void add_range(struct runs *touched, uint64_t start, uint64_t end)
{
	if (start < end && end <= ADDRESS_END)
		for (start &= -PAGE_SIZE; start < end; start += PAGE_SIZE)
			runs_add(touched, start, 1, 0);
}

/*
 * Pages of one thread that are written to before its frames are back, and so are there already: by the restore itself (thread id,
 * rseq), and by a signal that comes before the one that stops it, whose frame is pushed on one of the stacks.
 */
static int add_touched(const struct keeping *keeping, uint64_t thread, struct runs *touched)
{
	uint64_t top;
	struct core core;

	if (core_read(keeping->images, thread, &core))
		return -1;
	top = core.altstack + core.altstack_size;
	add_range(touched, core.clear_tid, core.clear_tid ? core.clear_tid + 8 : 0);
	add_range(touched, core.fs_base, core.fs_base ? core.fs_base + 8 : 0);
	add_range(touched, core.rseq, core.rseq + core.rseq_size);
	add_range(touched, core.sp < SIGNAL_FRAME ? 0 : core.sp - SIGNAL_FRAME, core.sp);
	add_range(touched, core.altstack_size < SIGNAL_FRAME ? core.altstack : top - SIGNAL_FRAME, top);
	return 0;
}

static int find_touched(const struct keeping *keeping, uint64_t task, struct runs *touched)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task", task);
	threads = opendir(path);
	if (!threads)
		return fail_errno("the threads of process %" PRIu64 " cannot be listed", task);
	while (!result && (errno = 0, entry = readdir(threads)))
		if (*entry->d_name != '.')
			result = add_touched(keeping, strtoull(entry->d_name, NULL, 10), touched);
	if (!result && errno)
		result = fail_errno("the threads of process %" PRIu64 " cannot be listed", task);
	closedir(threads);
	return result;
}

static int by_address(const void *a, const void *b)
{
	uint64_t one = ((const struct run *)a)->address, other = ((const struct run *)b)->address;

	return one < other ? -1 : one > other;
}

static uint64_t run_end(const struct run *run)
{
	return run->address + run->pages * PAGE_SIZE;
}

/* `all` in two: pages in one of the `areas`, and the others. Areas ascend, and may overlap. */
static void divide(const struct runs *all, const struct runs *areas, struct runs *inside, struct runs *outside)
{
	size_t first = 0;

	for (size_t i = 0; i < all->count; i++) {
		uint64_t at = all->list[i].address, end = run_end(&all->list[i]);

		for (size_t k = first; k < areas->count && areas->list[k].address < end; k++) {
			uint64_t from = areas->list[k].address, to = run_end(&areas->list[k]);

			/* Whole areas that lie before this run lie before the later ones, too. */
			if (to <= at) {
				first = k == first ? k + 1 : first;
				continue;
			}
			if (from > at)
				runs_add(outside, at, (from - at) / PAGE_SIZE, PE_PRESENT);
			else
				from = at;
			at = to < end ? to : end;
			runs_add(inside, from, (at - from) / PAGE_SIZE, PE_PRESENT);
		}
		if (at < end)
			runs_add(outside, at, (end - at) / PAGE_SIZE, PE_PRESENT);
	}
}

static int refused(uint64_t task, uint64_t address)
{
	if (errno == EBUSY)
		return fail("process %" PRIu64 " has a page at 0x%" PRIx64 " that a device may be writing to (direct I/O, io_uring, RDMA), expected none; use the engine foam",
			    task, address);
	return fail_errno("the page of process %" PRIu64 " at 0x%" PRIx64 " cannot be kept", task, address);
}

/* Hands `plain` to the kernel module under the name `task`; memory of another kind is added to `rest`. */
static int record(struct keeping *keeping, struct kept *object, uint32_t task, uint32_t flags, const struct runs *plain,
		  struct runs *rest)
{
	const struct run *run = plain->list, *end = plain->list + plain->count;
	/* What lies before, of the first run that is not done. */
	uint64_t done = 0;

	while (run < end) {
		struct kup_ppp_record record = {
			.pid = (int32_t)object->id, .task = task, .flags = flags, .ranges = (uintptr_t)keeping->ranges
		};
		const struct run *each = run;
		int error;

		for (; each < end && record.number < KUP_PPP_RANGES_MAX; each++)
			keeping->ranges[record.number++] =
				(struct kup_ppp_range){ each->address > done ? each->address : done, run_end(each) };
		error = ioctl(keeping->device, KUP_PPP_RECORD, &record);
		object->recorded += record.pages;
		keeping->fetched += record.fetched;
		if (!error) {
			run = each;
			continue;
		}
		if (errno != EFAULT || record.failed_end <= record.failed_at)
			return refused(object->id, record.failed_at);
		while (run < end && run_end(run) <= record.failed_at)
			run++;
		for (; run < end && run->address < record.failed_end; run++) {
			uint64_t from = run->address > record.failed_at ? run->address : record.failed_at;
			uint64_t to = run_end(run) < record.failed_end ? run_end(run) : record.failed_end;

			runs_add(rest, from, (to - from) / PAGE_SIZE, PE_PRESENT);
			done = to;
			if (to < run_end(run))
				break;
		}
	}
	return 0;
}

static int copy_content(struct keeping *keeping, const struct kept *object, const struct runs *image)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/mem", object->id);
	CLEANUP_FD int memory = open(path, O_RDONLY | O_CLOEXEC);

	if (memory < 0)
		return fail_errno("the memory of process %" PRIu64 " cannot be read", object->id);
	for (size_t i = 0; i < image->count; i++)
		for (uint64_t done = 0; done < image->list[i].pages;) {
			uint64_t left = image->list[i].pages - done, count = left < BATCH ? left : BATCH;
			uint64_t address = image->list[i].address + done * PAGE_SIZE;

			if (read_all_at(memory, keeping->buffer, count * PAGE_SIZE, (off_t)address))
				return fail_errno("the memory of process %" PRIu64 " at 0x%" PRIx64 " cannot be read", object->id, address);
			if (write_all(object->content, keeping->buffer, count * PAGE_SIZE))
				return fail_errno("the images in %s cannot be written", keeping->options->images);
			keeping->copied += count;
			done += count;
		}
	return 0;
}

/* In order to know which of `plain` can wait: those that nobody shares. Recorded; the others are added to `rest`. */
static int record_lazy(struct keeping *keeping, struct kept *object, uint32_t number, const struct runs *plain, struct runs *rest,
		       struct runs *lazy)
{
	struct runs inside = { 0 };
	int result = record(keeping, object, KEPT_LAZY(number), KUP_PPP_RECORD_EXCLUSIVE, plain, rest);

	divide(plain, rest, &inside, lazy);
	runs_free(&inside);
	for (size_t i = 0; i < lazy->count; i++)
		lazy->list[i].flags = PE_LAZY;
	object->lazy = object->recorded;
	return result;
}

/* All of `from`, added to `to`, and sorted. */
static int merge(struct runs *to, const struct runs *from)
{
	for (size_t i = 0; i < from->count; i++)
		runs_add(to, from->list[i].address, from->list[i].pages, from->list[i].flags);
	return runs_sort(to);
}

static int keep_task(struct keeping *keeping, struct kept *object, uint32_t number)
{
	struct runs areas = { 0 }, touched = { 0 }, image = { 0 }, private = { 0 }, plain = { 0 }, shared = { 0 }, lazy = { 0 };
	/* Not only what the module would refuse: the vdso of the kernel before is ordinary memory, and CRIU needs it early. */
	int result = mm_read(keeping->images, object->id, &areas) || find_touched(keeping, object->id, &touched);

	if (!result) {
		if (touched.count)
			qsort(touched.list, touched.count, sizeof(*touched.list), by_address);
		divide(&object->runs, &areas, &private, &image);
		divide(&private, &touched, &image, &plain);
		if (keeping->options->lazy)
			result = record_lazy(keeping, object, number, &plain, &shared, &lazy);
		if (!result)
			result = record(keeping, object, KEPT_EAGER(number), 0, keeping->options->lazy ? &shared : &plain, &image);
		if (!result && runs_sort(&image))
			result = fail("pages of process %" PRIu64 " would be in its images twice", object->id);
		if (!result)
			result = copy_content(keeping, object, &image);
		if (!result && merge(&image, &lazy))
			result = fail("pages of process %" PRIu64 " would be in its images and in memory", object->id);
	}
	runs_free(&object->runs);
	object->runs = image;
	runs_free(&areas);
	runs_free(&touched);
	runs_free(&private);
	runs_free(&plain);
	runs_free(&shared);
	runs_free(&lazy);
	return result ? -1 : 0;
}

static int write_tasks(struct keeping *keeping, uint32_t first)
{
	CLEANUP_FREE char *text = take(keeping->object_count * KEPT_LINE_MAX + 1);
	size_t size = 0;

	for (size_t i = 0; i < keeping->object_count; i++) {
		struct kept *object = &keeping->objects[i];
		struct core core;

		if (object->type != OBJECT_TASK)
			continue;
		if (core_read(keeping->images, object->id, &core))
			return -1;
		size += (size_t)kept_task_print(text + size,
						&(struct kept_task){ .pid = (int32_t)object->id,
								     .number = (uint32_t)(first + i),
								     .pages = object->recorded - object->lazy,
								     .lazy_pages = object->lazy },
						core.stopped);
		keeping->recorded += object->recorded;
		keeping->lazy += object->lazy;
	}
	return replace_file(keeping->images, TASKS_FILE, text, size) ? fail_errno("the list of tasks cannot be written") : 0;
}

static int write_snapshot_id(const struct keeping *keeping)
{
	char text[SNAPSHOT_SIZE + 1];

	if (snapshot_new(text) || snapshot_write(keeping->images, text))
		return fail_errno("the snapshot's name cannot be written to %s", keeping->options->images);
	return 0;
}

/* The line that says: the tree stands still, and from which number on its tasks are named. */
static int await_word(uint32_t *first)
{
	char line[32], *end;
	unsigned long number;

	if (!fgets(line, sizeof(line), stdin))
		return fail("the dump was given up before its frames were kept");
	number = strtoul(line, &end, 10);
	if (end == line || *end != '\n' || number > INT32_MAX - OBJECTS_MAX)
		return fail("standard input said '%s', expected the first task's number", line);
	*first = (uint32_t)number;
	return 0;
}

static int keep_all(struct keeping *keeping, uint32_t first)
{
	keeping->device = device_open();
	if (keeping->device < 0)
		return -1;
	keeping->ranges = take(KUP_PPP_RANGES_MAX * sizeof(*keeping->ranges));
	for (size_t i = 0; i < keeping->object_count; i++) {
		struct kept *object = &keeping->objects[i];

		if (object->type == OBJECT_TASK && keep_task(keeping, object, (uint32_t)(first + i)))
			return -1;
		if (pagemap_write(keeping->images, object->type, object->id, pages_id(keeping, object), &object->runs))
			return -1;
	}
	return write_tasks(keeping, first) || write_snapshot_id(keeping) ? -1 : 0;
}

static void end(struct keeping *keeping)
{
	for (size_t i = 0; i < keeping->object_count; i++) {
		runs_free(&keeping->objects[i].runs);
		close_fd(&keeping->objects[i].content);
	}
	free(keeping->objects);
	free(keeping->ranges);
	free(keeping->buffer);
	close_fd(&keeping->images);
	close_fd(&keeping->device);
	close_fd(&keeping->sink[0]);
	close_fd(&keeping->sink[1]);
	close_fd(&keeping->null);
}

int keep(const struct keep_options *options)
{
	struct keeping keeping = { .options = options, .peer = PEER(options->socket), .images = -1, .device = -1, .sink = { -1, -1 },
				    .null = -1 };
	uint32_t first = 0;
	double start = 0;
	int result = -1;

	keeping.buffer = take(BATCH * PAGE_SIZE);
	if (!peer_open(&keeping.peer) && (keeping.images = open_private_directory(options->images)) >= 0 && !open_sink(&keeping))
		result = serve_requests(&keeping);
	(void)shutdown(options->socket, SHUT_RDWR);
	if (!result && !await_word(&first)) {
		start = seconds_now();
		result = keep_all(&keeping, first);
	} else {
		result = -1;
	}
	if (!result)
		printf("{\"objects\": %zu, \"kept_pages\": %" PRIu64 ", \"lazy_pages\": %" PRIu64 ", \"image_pages\": %" PRIu64 ", \"shared_pages\": %" PRIu64
		       ", \"fetched_pages\": %" PRIu64 ", \"dropped_pages\": %" PRIu64 ", \"seconds\": %.3f}\n",
		       keeping.object_count, keeping.recorded, keeping.lazy, keeping.copied, keeping.shared, keeping.fetched,
		       keeping.dropped, seconds_now() - start);
	end(&keeping);
	return result || fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
