/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "images/mm.h"
#include "images/pagemap.h"
#include "page_server/wire.h"
#include "store/round.h"

static int read_id(int directory, const char *path, char id[SNAPSHOT_SIZE])
{
	if (snapshot_read(directory, id))
		return fail_errno("%s/%s cannot be read, so no complete dump has been stored there", path, SNAPSHOT_FILE);
	return 0;
}

static int open_store(struct snapshot *snapshot)
{
	const char *store = snapshot->store_path;
	char id[SNAPSHOT_SIZE];

	if ((snapshot->store_dir = open_private_directory(store)) < 0)
		return -1;
	if (flock(snapshot->store_dir, LOCK_EX | LOCK_NB))
		return fail_errno("the store %s is in use by another process", store);
	if (read_id(snapshot->store_dir, store, id))
		return -1;
	if (!faccessat(snapshot->store_dir, UNFINISHED_FILE, F_OK, 0))
		return fail("the last round did not end in the store %s, so what it has is not whole", store);
	if (memcmp(snapshot->id, id, SNAPSHOT_SIZE))
		return fail("the images in %s and the store %s are of different snapshots (%.32s, %.32s)", snapshot->images_path,
			    store, snapshot->id, id);
	return 0;
}

static int open_frame_tasks(struct snapshot *snapshot)
{
	if (flock(snapshot->images_dir, LOCK_EX | LOCK_NB))
		return fail_errno("the images in %s are in use by another process", snapshot->images_path);
	return frame_tasks_read(snapshot->images_path, &snapshot->frame_tasks);
}

int snapshot_open(struct snapshot *snapshot, const char *images, const char *store)
{
	snapshot->images_path = images;
	snapshot->store_path = store;
	if ((snapshot->images_dir = open_private_directory(images)) < 0 || read_id(snapshot->images_dir, images, snapshot->id))
		return -1;
	return store ? open_store(snapshot) : open_frame_tasks(snapshot);
}

static void free_image(struct image *image)
{
	object_close(&image->files);
	runs_free(&image->runs);
	runs_free(&image->areas);
	free(image);
}

void snapshot_close(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->image_count; i++)
		free_image(snapshot->images[i]);
	free(snapshot->images);
	frame_tasks_free(&snapshot->frame_tasks);
	close_fd(&snapshot->store_dir);
	close_fd(&snapshot->images_dir);
}

static int find_frame_task(const struct snapshot *snapshot, struct image *image)
{
	const struct frame_task *task = frame_tasks_find(&snapshot->frame_tasks, image->id);

	if (!task)
		return fail("process %" PRIu64 " is not in the list of tasks in %s", image->id, snapshot->images_path);
	image->frame_task = task->number;
	return 0;
}

struct image *snapshot_image(struct snapshot *snapshot, uint64_t id)
{
	struct image *image;

	for (size_t i = 0; i < snapshot->image_count; i++)
		if (snapshot->images[i]->id == id)
			return snapshot->images[i];
	image = take(sizeof(*image));
	image->id = id;
	object_init(&image->files, snapshot->store_dir, OBJECT_TASK, id, false);
	if (pagemap_read(snapshot->images_dir, id, &image->runs) || mm_read(snapshot->images_dir, id, &image->areas) ||
	    (!snapshot->store_path && find_frame_task(snapshot, image))) {
		free_image(image);
		return NULL;
	}
	for (size_t i = 0; i < image->runs.count; i++)
		if (image->runs.list[i].flags & PE_LAZY)
			image->lazy_pages += image->runs.list[i].pages;
	snapshot->images = take_more(snapshot->images, snapshot->image_count + 1, sizeof(*snapshot->images));
	snapshot->images[snapshot->image_count++] = image;
	return image;
}

uint64_t snapshot_lazy_pages(const struct snapshot *snapshot)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < snapshot->image_count; i++)
		pages += snapshot->images[i]->lazy_pages;
	return pages;
}
