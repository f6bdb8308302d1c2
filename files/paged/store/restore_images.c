/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/restore_images.h"

#include <inttypes.h>

#include "images/mm.h"
#include "images/pagemap.h"
#include "page_server/peer.h"
#include "store/sum.h"

/* Pages that are read back, checked and copied at once. */
#define BATCH 64

/* The images of one object. */
struct flat_image {
	struct object *files;
	/* For the pagemap. */
	struct runs runs;
	/* Areas that restore registers for page faults, and the first of them that is not behind yet. */
	struct runs lazy_areas;
	size_t area;
	/* The pages image. */
	int content;
};

static void close_image(struct flat_image *image)
{
	close_fd(&image->content);
	runs_free(&image->runs);
	runs_free(&image->lazy_areas);
}

/*
 * How many of these pages are restored in the same way as the first one: on demand, or by restore itself. On demand come all that lie in
 * an area that CRIU registers for it. What CRIU says of each page (PE_LAZY) does not count: while the stack pointer of one thread is at
 * the beginning of a page, CRIU takes every page of the process for its stack (criu/mem.c, is_stack). And where restore writes one page
 * into such an area, the kernel may give it a huge page, with zeros for the pages around it that are to come on demand.
 * Calls have ascending addresses.
 */
static uint64_t same_way(struct flat_image *image, uint64_t address, uint64_t pages, bool *lazy)
{
	const struct runs *areas = &image->lazy_areas;
	uint64_t border = ADDRESS_END;

	*lazy = false;
	while (image->area < areas->count && run_end(&areas->list[image->area]) <= address)
		image->area++;
	if (image->area < areas->count) {
		*lazy = address >= areas->list[image->area].address;
		border = *lazy ? run_end(&areas->list[image->area]) : areas->list[image->area].address;
	}
	return pages < (border - address) / PAGE_SIZE ? pages : (border - address) / PAGE_SIZE;
}

/* Copies pages that restore reads by itself, after checking them. All in one segment. */
static int copy_eager(const struct restore_images *images, const struct flat_image *image, uint64_t address, uint64_t pages)
{
	static uint8_t buffer[BATCH * PAGE_SIZE];
	const struct object *files = image->files;
	uint64_t sums[BATCH];

	while (pages) {
		uint64_t count = pages < BATCH ? pages : BATCH;

		if (object_read_sums(image->files, address, sums, count) || object_read(image->files, address, buffer, count))
			return fail_errno("%s %" PRIu64 " in the store %s cannot be read", type_name(files->type), files->id,
					  images->store_path);
		for (uint64_t i = 0; i < count; i++)
			if (!sum_matches(sums[i], buffer + i * PAGE_SIZE, address + i * PAGE_SIZE))
				return fail("the page at 0x%" PRIx64 " of %s %" PRIu64 " in %s is not what was written there",
					    address + i * PAGE_SIZE, type_name(files->type), files->id, images->store_path);
		if (write_all(image->content, buffer, count * PAGE_SIZE))
			return fail_errno("the pages that restore reads cannot be written to %s", images->path);
		address += count * PAGE_SIZE;
		pages -= count;
	}
	return 0;
}

static int place_run(struct restore_images *images, struct flat_image *image, const struct run *run)
{
	for (uint64_t address = run->address, count; address < run_end(run); address += count * PAGE_SIZE) {
		bool lazy;

		count = same_way(image, address, segment_rest(address, (run_end(run) - address) / PAGE_SIZE), &lazy);
		runs_add(&image->runs, address, count, lazy ? PE_LAZY : PE_PRESENT);
		*(lazy ? &images->lazy_pages : &images->eager_pages) += count;
		if (!lazy && copy_eager(images, image, address, count))
			return -1;
	}
	return 0;
}

int restore_images_write(struct restore_images *images, struct object *files, const struct runs *runs, uint32_t pages_id)
{
	__attribute__((cleanup(close_image))) struct flat_image image = { .files = files, .content = -1 };

	/* The image of the task's areas is complete when CRIU closes the connection. */
	if (files->type == OBJECT_TASK && mm_read(images->directory, files->id, &image.lazy_areas))
		return -1;
	image.content = pages_create(images->directory, pages_id);
	if (image.content < 0)
		return -1;
	for (size_t i = 0; i < runs->count; i++)
		if (place_run(images, &image, &runs->list[i]))
			return -1;
	if (wait_for_disk(image.content))
		return fail_errno("the pages that restore reads cannot be written to %s", images->path);
	return pagemap_write(images->directory, files->type, files->id, pages_id, &image.runs);
}
