/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's note of which pages of a process were written to. */
#ifndef PAGED_SOFT_DIRTY_H
#define PAGED_SOFT_DIRTY_H

#include <stdint.h>

/* From here on no page of the task counts as written to, until it is. -1 after saying why not. */
int clear_soft_dirty(uint64_t task);

#endif
