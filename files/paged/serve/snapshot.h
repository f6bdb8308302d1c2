/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was dumped: CRIU's images, with either a store or the kernel module as the place of the pages. */
#ifndef PAGED_SNAPSHOT_H
#define PAGED_SNAPSHOT_H

#include "frames/frame_tasks.h"
#include "images/snapshot_id.h"
#include "serve/task.h"

struct snapshot {
	/* Paths, for messages. `store` is NULL if the kernel module has the pages. */
	const char *images_path, *store_path;
	int images_dir, store_dir;
	char id[SNAPSHOT_SIZE];
	/* Of a snapshot whose pages are in memory. */
	struct frame_tasks frame_tasks;
	/* The images that were asked for. */
	struct image **images;
	size_t image_count;
};

#define SNAPSHOT_CLOSED { .images_dir = -1, .store_dir = -1 }

/*
 * Opens and locks the images, and the store if there is a path of one; else lists the frame tasks. -1 after saying why not: another
 * process uses them, a round did not end, or images and store are of different dumps.
 */
int snapshot_open(struct snapshot *snapshot, const char *images, const char *store);
void snapshot_close(struct snapshot *snapshot);

/* The image of a dumped task, by its process id; NULL after saying why there is none. It lives as long as the snapshot. */
struct image *snapshot_image(struct snapshot *snapshot, uint64_t id);
/* Sum of the images that were asked for. */
uint64_t snapshot_lazy_pages(const struct snapshot *snapshot);

#endif
