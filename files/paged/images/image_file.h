/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One image file of CRIU, read as a whole. */
#ifndef PAGED_IMAGE_FILE_H
#define PAGED_IMAGE_FILE_H

#include "base/pages.h"

#define IMAGE_NAME_SIZE 64

/* Reads an image's bytes into `into`; `name` is for messages. -1 after saying what is wrong. */
typedef int (*image_parser)(const void *bytes, size_t size, const char *name, void *into);

/* Parses the image KIND-ID.img. -1 after saying what is wrong: no such file, more than 1 GiB, unreadable, or refused by the parser. */
int image_read(int directory, const char *kind, uint64_t id, image_parser parse, void *into);

#endif
