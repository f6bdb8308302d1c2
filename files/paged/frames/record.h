/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `paged record`: CRIU's page server for a dump whose pages stay in their page frames. */
#ifndef PAGED_RECORD_H
#define PAGED_RECORD_H

#include "base/pages.h"

struct record_options {
	const char *images;
	/* CRIU's page stream. */
	int socket;
	/* Pages that nobody shares are bound when they are needed, while the process runs: paged serve --frames. */
	bool lazy;
	/* Clears the soft-dirty bits of each process in the freeze, so that CRIU finds no page that was written to: see open_object(). */
	bool clear_soft_dirty;
};

/* Serves CRIU, waits on standard input for the first task's number, and hands the frames to the kernel module. The exit code. */
int record_tree(const struct record_options *options);

#endif
