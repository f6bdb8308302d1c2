/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/keeper_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "pairs/pair.h"

int process_start(pid_t pid, uint64_t *start)
{
	char path[64], text[1024], *at, *word = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (size < 0)
		return -1;
	text[size] = '\0';
	/* The name in front may have any characters. Behind it: the state is field 3, the start 22. */
	at = strrchr(text, ')');
	if (at)
		at += strspn(at, ") ");
	for (int field = 3; at && field <= 22; field++)
		word = strsep(&at, " ");
	errno = EINVAL;
	return word && !parse_number(word, UINT64_MAX, start) ? 0 : -1;
}

/* A line of an end; it counts if it is of the unit that is asked for. */
static int read_end(struct keeper_file *keeper, const struct words *words, uint64_t inode, uint64_t number)
{
	if (!inode || number > INT_MAX || keeper->count == 2 * PAIRS_MAX * PAIR_UNITS_MAX)
		return -1;
	if (keeper->unit && strcmp(keeper->unit, words->word[1]))
		return 0;
	if (!(keeper->count & (keeper->count - 1)))
		keeper->ends = take_more(keeper->ends, keeper->count ? 2 * keeper->count : 1, sizeof(*keeper->ends));
	keeper->ends[keeper->count++] = (struct kept_end){ (uint32_t)inode, (int)number };
	return 0;
}

static int read_line(struct words *words, void *context)
{
	struct keeper_file *keeper = context;
	uint64_t first, second;
	size_t at = words->count - 2;

	if (words->count < 3 || parse_number(words->word[at], UINT32_MAX, &first) || parse_number(words->word[at + 1], UINT64_MAX, &second))
		return -1;
	if (words->count == 3 && !strcmp(words->word[0], "keeper") && !keeper->pid && first && first <= INT_MAX) {
		keeper->pid = (pid_t)first;
		keeper->start = second;
		return 0;
	}
	if (words->count != 4 || strcmp(words->word[0], "end") || !keeper->pid)
		return -1;
	return read_end(keeper, words, first, second);
}

int keeper_read(struct keeper_file *keeper, const char *unit, const char *path)
{
	size_t size;
	CLEANUP_FREE char *text = lines_load(path, &size);

	memset(keeper, 0, sizeof(*keeper));
	keeper->unit = unit;
	if (!text || lines_each(text, size, path, KEEPER_HEAD, read_line, keeper))
		return -1;
	return keeper->pid ? 0 : fail("The file %s names no process.", path);
}

int keeper_open(const struct keeper_file *keeper)
{
	CLEANUP_FD int handle = open_process(keeper->pid);
	struct pollfd ended = { .fd = handle, .events = POLLIN };
	uint64_t start;
	int found;

	if (handle < 0)
		return -1;
	/* Read with the handle open: the process id cannot be another's by now. One that nobody has waited for has ended as well. */
	if (process_start(keeper->pid, &start) || start != keeper->start || poll(&ended, 1, 0)) {
		errno = ESRCH;
		return -1;
	}
	found = handle;
	handle = -1;
	return found;
}
