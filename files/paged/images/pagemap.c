/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/pagemap.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "images/image_file.h"
#include "common/protobuf.h"
#include "page_server/wire.h"

/* criu/include/magic.h */
#define PAGEMAP_MAGIC 0x56084025u
/* The longest entry is a key and ten bytes for each of four fields. */
#define ENTRY_MAX 44

static bool is_valid_run(const struct run *run)
{
	return run->address % PAGE_SIZE == 0 && run->address < ADDRESS_END && run->pages && run->pages <= PAGES_MAX &&
	       run->pages <= (ADDRESS_END - run->address) / PAGE_SIZE;
}

/* pagemap_entry: 1 vaddr, 2 nr_pages of up to CRIU 4.1, 3 in_parent (before there were flags), 4 flags, 5 nr_pages of CRIU 4.2. */
static bool take_entry(struct bytes *message, struct run *run)
{
	uint64_t short_pages = 0, long_pages = 0;
	bool has_flags = false;
	struct field field;

	*run = (struct run){ .flags = PE_PRESENT };
	while (message->at < message->end) {
		if (!take_field(message, &field))
			return false;
		if (field.number == 1) {
			run->address = field.value;
		} else if (field.number == 2) {
			short_pages = field.value;
		} else if (field.number == 3 && field.value && !has_flags) {
			run->flags = PE_PARENT;
		} else if (field.number == 4) {
			run->flags = (unsigned int)field.value;
			has_flags = true;
		} else if (field.number == 5) {
			long_pages = field.value;
		}
	}
	run->pages = long_pages ? long_pages : short_pages;
	return is_valid_run(run);
}

int pagemap_parse(const void *bytes, size_t size, const char *name, struct runs *runs)
{
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;
	uint64_t end = 0, total = 0;
	struct run run;

	if (!take_magic(&image, PAGEMAP_MAGIC) || !take_message(&image, &message))
		return fail("%s is no pagemap image of CRIU: its first words are not the expected ones", name);
	while (image.at < image.end) {
		if (!take_message(&image, &message) || !take_entry(&message, &run))
			return fail("%s has a broken entry after 0x%" PRIx64 ", expected pages in user space", name, end);
		if (run.address < end)
			return fail("%s has the address 0x%" PRIx64 " after 0x%" PRIx64 ", expected ascending runs", name,
				    run.address, end);
		end = run_end(&run);
		total += run.pages;
		if (total > PAGES_MAX)
			return fail("%s has more than %" PRIu64 " pages", name, PAGES_MAX);
		runs_add(runs, run.address, run.pages, run.flags);
	}
	return 0;
}

static int parse(const void *bytes, size_t size, const char *name, void *into)
{
	return pagemap_parse(bytes, size, name, into);
}

int pagemap_read(int directory, uint64_t task, struct runs *runs)
{
	return image_read(directory, "pagemap", task, parse, runs);
}

/* Writes an entry behind its length; returns the end. */
static uint8_t *put_entry(uint8_t *at, const struct run *run)
{
	uint8_t *message = at + 4, *end = message;
	uint32_t size;

	*end++ = 1 << 3;
	end = put_varint(end, run->address);
	/* Up to CRIU 4.1 the number of pages is field 2. CRIU 4.2 demands that field too, but reads field 5. */
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
	char name[IMAGE_NAME_SIZE];
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
	char name[IMAGE_NAME_SIZE];
	int fd;

	snprintf(name, sizeof(name), "pages-%u.img", pages_id);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? fail_errno("the image %s cannot be written", name) : fd;
}
