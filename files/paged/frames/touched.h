/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of a stopped process that the restore itself writes to, before their frames could be bound. */
#ifndef PAGED_TOUCHED_H
#define PAGED_TOUCHED_H

#include "images/runs.h"

/*
 * Appends the pages that any thread of the process is written to before its frames are there, ascending; they may overlap. `images`: the
 * dump's directory, with a core image of each thread. -1 after saying why not.
 */
int find_touched(int images, uint64_t process, struct runs *touched);

#endif
