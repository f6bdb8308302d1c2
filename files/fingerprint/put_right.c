/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "put_right.h"

#include <stdlib.h>
#include <string.h>

#include "base/processes.h"
#include "base/lines.h"
#include "descriptors/descriptors.h"
#include "descriptors/timers.h"
#include "sockets/put_right.h"
#include "tasks/threads.h"

struct fingerprint {
	struct sockets_found sockets;
	struct facts threads, descriptors, timers;
};

/* The first reader that knows the line takes it. */
static int read_line(struct words *words, void *context)
{
	struct fingerprint *found = context;
	int result = sockets_take(&found->sockets, words);

	if (result > 0)
		result = threads_take(&found->threads, words);
	if (result > 0)
		result = descriptors_take(&found->descriptors, words);
	return result > 0 ? timers_take(&found->timers, words) : result;
}

struct fingerprint *fingerprint_parse(char *text, size_t size, const char *name)
{
	struct fingerprint *found = take_more(NULL, 1, sizeof(*found));

	memset(found, 0, sizeof(*found));
	if (!lines_each(text, size, name, LINES_HEAD, read_line, found))
		return found;
	fingerprint_free(found);
	return NULL;
}

size_t fingerprint_put_right(const struct fingerprint *found)
{
	/* Timers first: a time that comes meanwhile is not lost. */
	return timers_put_right(&found->timers) + sockets_put_right(&found->sockets) + descriptors_put_right(&found->descriptors) +
	       threads_put_right(&found->threads);
}

const struct sockets_found *fingerprint_sockets(const struct fingerprint *found)
{
	return &found->sockets;
}

void fingerprint_free(struct fingerprint *found)
{
	sockets_free(&found->sockets);
	facts_free(&found->threads);
	facts_free(&found->descriptors);
	facts_free(&found->timers);
	free(found);
}
