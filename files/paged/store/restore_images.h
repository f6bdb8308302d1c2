/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * After the last round: the pagemap and pages images of each object. They say which pages restore reads by itself, from these images,
 * and which come on demand, from the store.
 */
#ifndef PAGED_RESTORE_IMAGES_H
#define PAGED_RESTORE_IMAGES_H

#include "images/runs.h"
#include "store/flat_file.h"

struct restore_images {
	/* The directory of CRIU's images; for messages, its path and the store's. */
	int directory;
	const char *path, *store_path;
	/* Pages so far. */
	uint64_t lazy_pages, eager_pages;
};

/* Writes the images of the object `files`, whose pages are `runs`, ascending. -1 after saying why not. Synced is only the content. */
int restore_images_write(struct restore_images *images, struct object *files, const struct runs *runs, uint32_t pages_id);

#endif
