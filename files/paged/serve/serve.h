/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `paged serve`: takes the place of `criu lazy-pages` for one restored tree. */
#ifndef PAGED_SERVE_H
#define PAGED_SERVE_H

#include "base/pages.h"

struct serve_options {
	const char *images;
	/* NULL: the pages are in memory, and the kernel module has them. */
	const char *store;
	/* CRIU's lazy-pages.socket. */
	const char *socket;
	const char *journal;
	/* Until there is such a file, only pages that are asked for are installed. NULL: there is none to wait for. */
	const char *after;
};

/* Serves the pages of one restored tree until all are installed, and prints statistics as a line of JSON. The exit code. */
int serve(const struct serve_options *options);

#endif
