/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRIU's pagemap-*.img: which pages of a task or a piece of shared memory there are. And the pages-*.img with their content. */
#ifndef PAGED_PAGEMAP_H
#define PAGED_PAGEMAP_H

#include "images/runs.h"

/* Appends the runs of a pagemap image, ascending. -1 after saying what is wrong with it; `name` is the file's. */
int pagemap_parse(const void *bytes, size_t size, const char *name, struct runs *runs);
/* The same, of a task's image in this directory. */
int pagemap_read(int directory, uint64_t task, struct runs *runs);

/* CRIU's own page server numbers its pages images from here, so that they do not meet those of the dump. */
#define PAGES_ID_BASE 0x10000u

/* Writes a pagemap image that names pages-PAGES_ID.img for content. Not synced. -1 after saying why not. */
int pagemap_write(int directory, enum object_type type, uint64_t id, uint32_t pages_id, const struct runs *runs);
/* Creates an empty pages-PAGES_ID.img, open for writing. -1 after saying why not. */
int pages_create(int directory, uint32_t pages_id);

#endif
