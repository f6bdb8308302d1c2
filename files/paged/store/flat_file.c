/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/flat_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE 64
/* Sums of this many pages are looked at in one go: one file system block. */
#define SUMS_AT_ONCE 512
/*
 * From so many pages on they go to the disk past the page cache: the kernel then neither copies them nor looks for room in
 * a memory that the application fills. Fewer are left to the kernel to write together.
 */
#define DIRECT_PAGES 16
/* Bytes after which the disk is told to begin, so that the end of the round need not wait for all of them. */
#define WRITEBACK_BYTES ((uint64_t)8 << 20)

static void object_name(char name[NAME_SIZE], const struct object *object, unsigned int segment, const char *kind)
{
	snprintf(name, NAME_SIZE, "%s-%" PRIu64 ".%04x.%s", object->type == OBJECT_TASK ? "task" : "shmem", object->id, segment,
		 kind);
}

void object_init(struct object *object, int directory, enum object_type type, uint64_t id, bool writable)
{
	*object = (struct object){ .directory = directory, .type = type, .id = id, .writable = writable };
}

void object_close(struct object *object)
{
	for (size_t i = 0; i < object->segment_count; i++) {
		close_fd(&object->segments[i].pages);
		close_fd(&object->segments[i].direct);
		close_fd(&object->segments[i].sums);
	}
	free(object->segments);
	object->segments = NULL;
	object->segment_count = 0;
}

int object_each_file(int directory, file_visitor visit, void *context)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!listing) {
		close_fd(&fd);
		return -1;
	}
	while (!result && (entry = readdir(listing))) {
		struct object_file file = { .directory = directory, .name = entry->d_name };
		char kind[8], suffix[8];
		int end = 0;

		if (sscanf(entry->d_name, "%5[a-z]-%" SCNu64 ".%4x.%5[a-z]%n", kind, &file.id, &file.segment, suffix, &end) != 4)
			continue;
		if (entry->d_name[end] || (strcmp(kind, "task") && strcmp(kind, "shmem")))
			continue;
		file.type = strcmp(kind, "task") ? OBJECT_SHMEM : OBJECT_TASK;
		result = visit(&file, context);
	}
	closedir(listing);
	return result;
}

static int found_one(const struct object_file *file, void *context)
{
	const struct object *wanted = context;

	return file->type == wanted->type && file->id == wanted->id;
}

bool object_exists(int directory, enum object_type type, uint64_t id)
{
	struct object wanted = { .type = type, .id = id };

	return object_each_file(directory, found_one, &wanted) == 1;
}

uint64_t segment_rest(uint64_t address, uint64_t pages)
{
	uint64_t rest = (SEGMENT_SIZE - (address & (SEGMENT_SIZE - 1))) / PAGE_SIZE;

	return pages < rest ? pages : rest;
}

struct segment *object_segment(struct object *object, uint64_t address)
{
	struct segment new = { .number = (unsigned int)(address >> SEGMENT_SHIFT), .pages = -1, .direct = -1, .sums = -1 };
	int flags = (object->writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
	char name[NAME_SIZE];

	for (size_t i = 0; i < object->segment_count; i++)
		if (object->segments[i].number == new.number)
			return &object->segments[i];

	object_name(name, object, new.number, "pages");
	new.pages = openat(object->directory, name, flags, 0600);
	if (new.pages < 0)
		return NULL;
	if (object->writable) {
		new.direct = openat(object->directory, name, O_WRONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
		/* Sparse; saves the file system from moving the end with each direct write. A smaller limit of its own is no harm. */
		(void)!ftruncate(new.pages, (off_t)SEGMENT_SIZE);
	}
	object_name(name, object, new.number, "sums");
	new.sums = openat(object->directory, name, flags, 0600);
	if (new.sums < 0) {
		close_fd(&new.pages);
		close_fd(&new.direct);
		return NULL;
	}
	object->segments = take_more(object->segments, object->segment_count + 1, sizeof(new));
	object->segments[object->segment_count] = new;
	return &object->segments[object->segment_count++];
}

int object_read(struct object *object, uint64_t address, void *pages, uint64_t count)
{
	struct segment *segment = object_segment(object, address);

	return segment ? read_all_at(segment->pages, pages, count * PAGE_SIZE, segment_offset(address)) : -1;
}

int object_write(struct object *object, uint64_t address, const void *pages, uint64_t count, bool direct)
{
	struct segment *segment = object_segment(object, address);

	if (!segment)
		return -1;
	if (direct && count >= DIRECT_PAGES && segment->direct >= 0) {
		if (!write_all_at(segment->direct, pages, count * PAGE_SIZE, segment_offset(address)))
			return 0;
		if (errno != EINVAL)
			return -1;
		/* The disk's blocks are larger than pages. */
		close_fd(&segment->direct);
	}
	if (write_all_at(segment->pages, pages, count * PAGE_SIZE, segment_offset(address)))
		return -1;
	segment->dirty += count * PAGE_SIZE;
	if (segment->dirty >= WRITEBACK_BYTES) {
		(void)sync_file_range(segment->pages, 0, 0, SYNC_FILE_RANGE_WRITE);
		segment->dirty = 0;
	}
	return 0;
}

static off_t sums_offset(uint64_t address)
{
	return segment_offset(address) / (off_t)PAGE_SIZE * 8;
}

/* Sums of a segment that exists; what lies behind the end of the file is 0. */
static int read_sums(int fd, uint64_t address, uint64_t *sums, uint64_t count)
{
	size_t size = count * sizeof(*sums), have = 0;

	while (have < size) {
		ssize_t got = pread(fd, (char *)sums + have, size - have, sums_offset(address) + (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	memset((char *)sums + have, 0, size - have);
	return 0;
}

int object_read_sums(struct object *object, uint64_t address, uint64_t *sums, uint64_t count)
{
	struct segment *segment = object_segment(object, address);

	if (!segment && errno != ENOENT)
		return -1;
	if (segment)
		return read_sums(segment->sums, address, sums, count);
	memset(sums, 0, count * sizeof(*sums));
	return 0;
}

int object_write_sums(struct object *object, uint64_t address, const uint64_t *sums, uint64_t count)
{
	struct segment *segment = object_segment(object, address);

	if (!segment)
		return -1;
	return write_all_at(segment->sums, sums, count * sizeof(*sums), sums_offset(address));
}

/* One block of sums: write zeros where there are sums, and punch the pages. */
static int forget_block(struct segment *segment, uint64_t address, uint64_t count)
{
	static const uint64_t zeros[SUMS_AT_ONCE];
	uint64_t sums[SUMS_AT_ONCE];

	if (read_sums(segment->sums, address, sums, count))
		return -1;
	if (!memcmp(sums, zeros, count * sizeof(*sums)))
		return 0;
	if (write_all_at(segment->sums, zeros, count * sizeof(*zeros), sums_offset(address)))
		return -1;
	/* Only to save space: a file system that cannot do it has lost nothing. */
	(void)fallocate(segment->pages, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, segment_offset(address),
			(off_t)(count * PAGE_SIZE));
	return 0;
}

static int forget_in_segment(struct segment *segment, uint64_t from, uint64_t to)
{
	while (from < to) {
		/* Most of an address space is a hole: step over it. */
		off_t data = lseek(segment->sums, sums_offset(from), SEEK_DATA);
		uint64_t skipped, count;

		if (data < 0)
			return errno == ENXIO ? 0 : -1;
		skipped = ((uint64_t)(data - sums_offset(from)) / 8) * PAGE_SIZE;
		if (skipped >= to - from)
			return 0;
		from += skipped;
		count = SUMS_AT_ONCE - (from / PAGE_SIZE) % SUMS_AT_ONCE;
		if (count > (to - from) / PAGE_SIZE)
			count = (to - from) / PAGE_SIZE;
		if (forget_block(segment, from, count))
			return -1;
		from += count * PAGE_SIZE;
	}
	return 0;
}

static int open_one(const struct object_file *file, void *context)
{
	struct object *object = context;

	if (file->type != object->type || file->id != object->id)
		return 0;
	return object_segment(object, (uint64_t)file->segment << SEGMENT_SHIFT) ? 0 : -1;
}

int object_forget(struct object *object, uint64_t from, uint64_t to)
{
	if (!object->all_open && object_each_file(object->directory, open_one, object))
		return -1;
	object->all_open = true;
	for (size_t i = 0; i < object->segment_count; i++) {
		uint64_t first = (uint64_t)object->segments[i].number << SEGMENT_SHIFT, end = first + SEGMENT_SIZE;

		if (first < from)
			first = from;
		if (end > to)
			end = to;
		if (first < end && forget_in_segment(&object->segments[i], first, end))
			return -1;
	}
	return 0;
}
