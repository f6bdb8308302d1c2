/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRIU's mm-*.img: the areas of a task that CRIU restores on demand. */
#ifndef PAGED_MM_H
#define PAGED_MM_H

#include "images/runs.h"

/*
 * Appends the areas that CRIU registers for page faults (criu/include/vma.h, vma_entry_can_be_lazy), ascending, with the flags PE_LAZY;
 * without shadow stacks, which CRIU fills before. -1 after saying what is wrong with the image; `name` is the file's.
 */
int mm_parse(const void *bytes, size_t size, const char *name, struct runs *lazy);
/* The same, of a task's image in this directory. */
int mm_read(int directory, uint64_t task, struct runs *lazy);

#endif
