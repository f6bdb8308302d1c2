/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PAGED_KEEP_H
#define PAGED_KEEP_H

#include "common.h"

struct keep_options {
	const char *images;
	int socket;
	/* Pages that nobody shares are put back when they are needed, while the process runs: paged serve --frames. */
	bool lazy;
	/* In the freeze, so that CRIU finds no page that was written to: see open_object(). */
	bool clear_soft_dirty;
};

/* CRIU's page server for a dump whose pages stay where they are; the exit code. */
int keep(const struct keep_options *options);

#endif
