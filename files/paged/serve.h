/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PAGED_SERVE_H
#define PAGED_SERVE_H

#include "common.h"

struct serve_options {
	const char *images;
	/* NULL: the pages are in memory, the kernel module has them. */
	const char *store;
	const char *socket;
	const char *journal;
	/* Until there is such a file, only what is asked for comes in; NULL: at once. */
	const char *after;
};

/* Serves the pages of one restored tree until all are installed; the exit code. */
int serve(const struct serve_options *options);

#endif
