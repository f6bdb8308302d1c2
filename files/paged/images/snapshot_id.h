/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file with 32 hex digits. The same ones beside CRIU's images and in a store: these images belong to this store. */
#ifndef PAGED_SNAPSHOT_ID_H
#define PAGED_SNAPSHOT_ID_H

#include "base/pages.h"

#define SNAPSHOT_FILE "paged-snapshot"
#define SNAPSHOT_SIZE 33

/* Makes a random id, writes it, reads it. All return -1 with errno. `text` ends with a line feed and, when made, a zero. */
int snapshot_new(char text[SNAPSHOT_SIZE + 1]);
int snapshot_write(int directory, const char *text);
int snapshot_read(int directory, char text[SNAPSHOT_SIZE]);

#endif
