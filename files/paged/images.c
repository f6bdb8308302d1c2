/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

/* criu/include/magic.h */
#define IMG_COMMON_MAGIC 0x54564319u
#define PAGEMAP_MAGIC 0x56084025u
#define MM_MAGIC 0x57492820u
#define CORE_MAGIC 0x55053847u
/* criu/include/image.h */
#define VMA_AREA_VDSO (1u << 3)
#define VMA_AREA_VSYSCALL (1u << 2)
#define VMA_AREA_VVAR (1u << 12)
#define VMA_AREA_SHSTK (1u << 15)
#define VMA_AREA_GUARD (1u << 16)
/* criu/include/pid.h */
#define TASK_STOPPED 3

#define IMAGE_MAX ((size_t)1 << 30)
#define NAME_SIZE 64

void runs_add(struct runs *runs, uint64_t address, uint64_t pages, unsigned int flags)
{
	struct run *last = runs->count ? &runs->list[runs->count - 1] : NULL;

	if (last && last->flags == flags && last->address + last->pages * PAGE_SIZE == address) {
		last->pages += pages;
		return;
	}
	if (runs->count == runs->room) {
		runs->room = runs->room ? runs->room * 2 : 64;
		runs->list = take_more(runs->list, runs->room, sizeof(*runs->list));
	}
	runs->list[runs->count++] = (struct run){ .address = address, .pages = pages, .flags = flags };
}

void runs_free(struct runs *runs)
{
	free(runs->list);
	*runs = (struct runs){ 0 };
}

static int by_address(const void *a, const void *b)
{
	uint64_t one = ((const struct run *)a)->address, other = ((const struct run *)b)->address;

	return one < other ? -1 : one > other;
}

int runs_sort(struct runs *runs)
{
	bool sorted = true;

	for (size_t i = 1; i < runs->count && sorted; i++)
		sorted = runs->list[i - 1].address < runs->list[i].address;
	if (!sorted)
		qsort(runs->list, runs->count, sizeof(*runs->list), by_address);
	for (size_t i = 1; i < runs->count; i++)
		if (runs->list[i - 1].address + runs->list[i - 1].pages * PAGE_SIZE > runs->list[i].address)
			return -1;
	return 0;
}

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static bool take_u32(struct bytes *bytes, uint32_t *value)
{
	if (bytes->end - bytes->at < 4)
		return false;
	memcpy(value, bytes->at, 4);
	bytes->at += 4;
	return true;
}

static bool take_varint(struct bytes *bytes, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
		uint8_t byte = *bytes->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool take_bytes(struct bytes *from, uint64_t size, struct bytes *taken)
{
	if (size > (uint64_t)(from->end - from->at))
		return false;
	*taken = (struct bytes){ .at = from->at, .end = from->at + size };
	from->at += size;
	return true;
}

/* Protobuf's wire types that CRIU's messages have. */
enum { TYPE_VARINT = 0, TYPE_64 = 1, TYPE_BYTES = 2, TYPE_32 = 5 };

struct field {
	uint64_t number;
	uint64_t value;
	struct bytes content;
};

static bool take_field(struct bytes *message, struct field *field)
{
	uint64_t key;

	*field = (struct field){ 0 };
	if (!take_varint(message, &key))
		return false;
	field->number = key >> 3;
	switch (key & 7) {
	case TYPE_VARINT:
		return take_varint(message, &field->value);
	case TYPE_64:
		return take_bytes(message, 8, &field->content);
	case TYPE_32:
		return take_bytes(message, 4, &field->content);
	case TYPE_BYTES:
		return take_varint(message, &field->value) && take_bytes(message, field->value, &field->content);
	default:
		return false;
	}
}

static bool take_message(struct bytes *image, struct bytes *message)
{
	uint32_t size;

	return take_u32(image, &size) && take_bytes(image, size, message);
}

static bool take_magic(struct bytes *image, uint32_t wanted)
{
	uint32_t common, own;

	return take_u32(image, &common) && take_u32(image, &own) && common == IMG_COMMON_MAGIC && own == wanted;
}

/* pagemap_entry: 1 vaddr, 2 nr_pages of up to CRIU 4.1, 4 flags, 5 nr_pages of CRIU 4.2. */
static bool take_pagemap_entry(struct bytes *message, struct run *run)
{
	uint64_t short_pages = 0, long_pages = 0;
	bool has_flags = false;
	struct field field;

	*run = (struct run){ .flags = PE_PRESENT };
	while (message->at < message->end) {
		if (!take_field(message, &field))
			return false;
		if (field.number == 1)
			run->address = field.value;
		else if (field.number == 2)
			short_pages = field.value;
		else if (field.number == 3 && field.value && !has_flags)
			run->flags = PE_PARENT;
		else if (field.number == 4) {
			run->flags = (unsigned int)field.value;
			has_flags = true;
		} else if (field.number == 5)
			long_pages = field.value;
	}
	run->pages = long_pages ? long_pages : short_pages;
	return run->address % PAGE_SIZE == 0 && run->address < ADDRESS_END && run->pages && run->pages <= PAGES_MAX &&
	       run->pages <= (ADDRESS_END - run->address) / PAGE_SIZE;
}

int pagemap_parse(const void *bytes, size_t size, const char *name, struct runs *runs)
{
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;
	uint64_t end = 0, total = 0;
	struct run run;

	if (!take_magic(&image, PAGEMAP_MAGIC) || !take_message(&image, &message))
		return fail("%s is no pagemap image of CRIU: its first words are not the expected ones", name);
	while (image.at < image.end) {
		if (!take_message(&image, &message) || !take_pagemap_entry(&message, &run))
			return fail("%s has a broken entry after 0x%" PRIx64 ", expected pages in user space", name, end);
		if (run.address < end)
			return fail("%s has the address 0x%" PRIx64 " after 0x%" PRIx64 ", expected ascending runs", name,
				    run.address, end);
		end = run.address + run.pages * PAGE_SIZE;
		total += run.pages;
		if (total > PAGES_MAX)
			return fail("%s has more than %" PRIu64 " pages", name, PAGES_MAX);
		runs_add(runs, run.address, run.pages, run.flags);
	}
	return 0;
}

/* vma_entry: 1 start, 2 end, 6 flags, 7 status. */
static bool take_area(struct bytes *message, struct run *run)
{
	uint64_t start = 0, end = 0, flags = 0, status = 0;
	struct field field;

	while (message->at < message->end) {
		if (!take_field(message, &field))
			return false;
		if (field.number == 1)
			start = field.value;
		else if (field.number == 2)
			end = field.value;
		else if (field.number == 6)
			flags = field.value;
		else if (field.number == 7)
			status = field.value;
	}
	/* At the end of the list: the vsyscall page, outside of user space, and what madvise(2) guards in areas named before. */
	if (status & (VMA_AREA_VSYSCALL | VMA_AREA_GUARD))
		start = end = 0;
	else if (start >= end || start % PAGE_SIZE || end % PAGE_SIZE || end > ADDRESS_END)
		return false;
	*run = (struct run){ .address = start, .pages = (end - start) / PAGE_SIZE };
	if ((flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) && !(flags & (MAP_LOCKED | MAP_HUGETLB)) &&
	    !(status & (VMA_AREA_VDSO | VMA_AREA_VVAR | VMA_AREA_SHSTK)))
		run->flags = PE_LAZY;
	return true;
}

int mm_parse(const void *bytes, size_t size, const char *name, struct runs *lazy)
{
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;
	uint64_t end = 0;
	struct field field;
	struct run area;

	if (!take_magic(&image, MM_MAGIC) || !take_message(&image, &message))
		return fail("%s is no memory image of CRIU: its first words are not the expected ones", name);
	while (message.at < message.end) {
		if (!take_field(&message, &field))
			return fail("%s is broken after the area that ends at 0x%" PRIx64, name, end);
		if (field.number != 14)
			continue;
		if (!take_area(&field.content, &area) || (area.pages && area.address < end))
			return fail("%s has a broken area after 0x%" PRIx64 ", expected ascending areas in user space", name, end);
		if (!area.pages)
			continue;
		end = area.address + area.pages * PAGE_SIZE;
		if (area.flags)
			runs_add(lazy, area.address, area.pages, area.flags);
	}
	return 0;
}

/* A number deep in a message: `path` are the fields that lead to it, 0 behind the last. False if the message is broken. */
static bool find_number(struct bytes message, const unsigned int *path, uint64_t *value)
{
	struct field field;

	while (message.at < message.end) {
		if (!take_field(&message, &field))
			return false;
		if (field.number != path[0])
			continue;
		if (!path[1])
			*value = field.value;
		else if (!field.content.at || !find_number(field.content, path + 1, value))
			return false;
	}
	return true;
}

/*
 * core_entry: 2 thread_info (1 clear_tid_addr, 2 gpregs (20 sp, 22 fs_base)), 3 tc (1 task_state),
 * 5 thread_core (7 sas (1 ss_sp, 2 ss_size), 15 rseq_entry (1 pointer, 2 size)).
 */
int core_parse(const void *bytes, size_t size, const char *name, struct core *core)
{
	static const unsigned int clear_tid[] = { 2, 1, 0 }, fs_base[] = { 2, 2, 22, 0 }, sp[] = { 2, 2, 20, 0 },
				  altstack[] = { 5, 7, 1, 0 }, altstack_size[] = { 5, 7, 2, 0 }, state[] = { 3, 1, 0 },
				  rseq[] = { 5, 15, 1, 0 }, rseq_size[] = { 5, 15, 2, 0 };
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;
	uint64_t task_state = 0;

	*core = (struct core){ 0 };
	if (!take_magic(&image, CORE_MAGIC) || !take_message(&image, &message))
		return fail("%s is no core image of CRIU: its first words are not the expected ones", name);
	if (!find_number(message, clear_tid, &core->clear_tid) || !find_number(message, fs_base, &core->fs_base) ||
	    !find_number(message, rseq, &core->rseq) || !find_number(message, rseq_size, &core->rseq_size) ||
	    !find_number(message, sp, &core->sp) || !find_number(message, altstack, &core->altstack) ||
	    !find_number(message, altstack_size, &core->altstack_size) || !find_number(message, state, &task_state))
		return fail("%s is broken", name);
	if (core->clear_tid >= ADDRESS_END || core->rseq >= ADDRESS_END || core->rseq_size > PAGE_SIZE ||
	    core->altstack >= ADDRESS_END || core->altstack_size >= ADDRESS_END)
		return fail("%s has addresses outside of user space", name);
	core->stopped = task_state == TASK_STOPPED;
	return 0;
}

typedef int (*parser)(const void *bytes, size_t size, const char *name, void *into);

/* The image `kind`-`id`.img. */
static int read_image(int directory, const char *kind, uint64_t id, parser parse, void *into)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%s-%" PRIu64 ".img", kind, id);

	CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE void *bytes = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return fail_errno("the image %s cannot be opened", name);
	if (status.st_size < 0 || (size_t)status.st_size > IMAGE_MAX)
		return fail("the image %s has %jd bytes, expected at most %zu", name, (intmax_t)status.st_size, IMAGE_MAX);
	bytes = take((size_t)status.st_size);
	if (read_all_at(fd, bytes, (size_t)status.st_size, 0))
		return fail_errno("the image %s cannot be read", name);
	return parse(bytes, (size_t)status.st_size, name, into);
}

static int parse_pagemap(const void *bytes, size_t size, const char *name, void *into)
{
	return pagemap_parse(bytes, size, name, into);
}

static int parse_mm(const void *bytes, size_t size, const char *name, void *into)
{
	return mm_parse(bytes, size, name, into);
}

int pagemap_read(int directory, uint64_t task, struct runs *runs)
{
	return read_image(directory, "pagemap", task, parse_pagemap, runs);
}

int mm_read(int directory, uint64_t task, struct runs *lazy)
{
	return read_image(directory, "mm", task, parse_mm, lazy);
}

static int parse_core(const void *bytes, size_t size, const char *name, void *into)
{
	return core_parse(bytes, size, name, into);
}

int core_read(int directory, uint64_t thread, struct core *core)
{
	return read_image(directory, "core", thread, parse_core, core);
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* The longest entry is a key and ten bytes for each of four fields. */
#define ENTRY_MAX 44

/* Behind its length; returns the end. */
static uint8_t *put_entry(uint8_t *at, const struct run *run)
{
	uint8_t *message = at + 4, *end = message;
	uint32_t size;

	*end++ = 1 << 3;
	end = put_varint(end, run->address);
	/* Up to CRIU 4.1 the number of pages is field 2; 4.2 demands that field too but reads field 5. */
	*end++ = 2 << 3;
	end = put_varint(end, run->pages);
	*end++ = 4 << 3;
	end = put_varint(end, run->flags);
	*end++ = 5 << 3;
	end = put_varint(end, run->pages);
	size = (uint32_t)(end - message);
	memcpy(at, &size, 4);
	return end;
}

int pagemap_write(int directory, enum object_type type, uint64_t id, uint32_t pages_id, const struct runs *runs)
{
	const uint32_t magics[] = { IMG_COMMON_MAGIC, PAGEMAP_MAGIC };
	CLEANUP_FREE uint8_t *bytes = take(64 + runs->count * (4 + ENTRY_MAX));
	uint8_t *end = bytes;
	char name[NAME_SIZE];
	uint32_t head_size;

	memcpy(end, magics, sizeof(magics));
	end += sizeof(magics);
	end[4] = 1 << 3;
	head_size = (uint32_t)(put_varint(end + 5, pages_id) - (end + 4));
	memcpy(end, &head_size, 4);
	end += 4 + head_size;
	for (size_t i = 0; i < runs->count; i++)
		end = put_entry(end, &runs->list[i]);

	snprintf(name, sizeof(name), "pagemap-%s%" PRIu64 ".img", type == OBJECT_SHMEM ? "shmem-" : "", id);
	CLEANUP_FD int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write_all(fd, bytes, (size_t)(end - bytes)))
		return fail_errno("the image %s cannot be written", name);
	return 0;
}

int pages_create(int directory, uint32_t pages_id)
{
	char name[NAME_SIZE];
	int fd;

	snprintf(name, sizeof(name), "pages-%u.img", pages_id);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? fail_errno("the image %s cannot be written", name) : fd;
}
