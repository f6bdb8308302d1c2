/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "descriptors/told.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/facts.h"

/* Lines that the next kernel has others of: identities, and time that runs on. */
static const char *const left_out_lines[] = {
	"eventfd-id", "ino", "it_value", "mnt_id", "scm_fds", "ticks",
};
/* Words within a line: of watched files (epoll, inotify, fanotify). What they lead to is compared as a descriptor, or by the restore. */
static const char *const left_out_words[] = {
	"f_handle:", "fhandle-bytes:", "fhandle-type:", "ino:", "mnt_id:", "pos:", "sdev:",
};

/* linux/fs.h and sys/epoll.h, in the numbers of fdinfo. */
enum {
	/*
	 * O_TMPFILE of open(2): a file without a name is made then, and another one can only be opened. It has the bit of O_DIRECTORY, which CRIU
	 * drops of directories, too. Both only count while a file is opened.
	 */
	TMPFILE_AND_DIRECTORY = 020200000,
	/* __FMODE_NONOTIFY, of fanotify's descriptors: kernels before 6.14 show it. */
	NONOTIFY = 0400000000,
	/* EPOLLERR and EPOLLHUP: they are watched for in any case, but in one that has fired and was watched once (EPOLLONESHOT). */
	ALWAYS_WATCHED = 0x18,
};
/* IN_EXCL_UNLINK of an inotify watch, which CRIU forgets. */
#define EXCLUDES_UNLINKED 0x04000000UL
#define MASK "mask:"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* A line of fdinfo: its name, and what follows. */
struct line {
	char *name, *value;
};

static int compare_lines(const void *one, const void *other)
{
	const struct line *first = one, *second = other;
	int order = strcmp(first->name, second->name);

	return order ? order : strcmp(first->value, second->value);
}

static bool is_left_out(const char *name)
{
	for (size_t i = 0; i < COUNT(left_out_lines); i++)
		if (!strcmp(name, left_out_lines[i]))
			return true;
	return false;
}

static bool is_identity(const char *word)
{
	for (size_t i = 0; i < COUNT(left_out_words); i++)
		if (!strncmp(word, left_out_words[i], strlen(left_out_words[i])))
			return true;
	return false;
}

/* "1: FLOCK ADVISORY WRITE 7 fe:01:123 0 EOF": number, process and file are identities. */
static bool is_identity_of_lock(size_t place)
{
	return place == 0 || place == 4 || place == 5;
}

/* Takes out bits that a restore cannot give back, in place: the number becomes no longer by it. */
static void clear_bits(char *number, int base, unsigned long bits)
{
	char text[32];
	unsigned long value = strtoul(number, NULL, base);

	if (value & bits && strlen(number) < sizeof(text))
		snprintf(number, strlen(number) + 1, base == 8 ? "0%lo" : "%lx", value & ~bits);
}

/* Of an open file, in octal. */
static void clear_flags(char *number)
{
	clear_bits(number, 8, NONOTIFY | TMPFILE_AND_DIRECTORY);
}

/* "19", the third word behind "tfd:", as in "5 events: 19 data: 5" */
static bool is_watched(const struct line *line, size_t place)
{
	return place == 2 && !strcmp(line->name, "tfd");
}

/* Puts commas between the words that are compared, in place. */
static void join_words(struct line *line)
{
	bool is_lock = !strcmp(line->name, "lock");
	char *rest = line->value, *end = line->value, *word;
	size_t place = 0;

	while ((word = strsep(&rest, " \t"))) {
		size_t length;

		if (!*word)
			continue;
		if (is_watched(line, place))
			clear_bits(word, 16, ALWAYS_WATCHED);
		if (!strcmp(line->name, "inotify") && !strncmp(word, MASK, strlen(MASK)))
			clear_bits(word + strlen(MASK), 16, EXCLUDES_UNLINKED);
		length = strlen(word);
		if (!is_identity(word) && !(is_lock && is_identity_of_lock(place))) {
			if (end != line->value)
				*end++ = ',';
			memmove(end, word, length);
			end += length;
		}
		place++;
	}
	/* A word that was moved never ends behind its old end. */
	*end = '\0';
}

/* "name: value", or "name value" (inotify). */
static struct line split(char *text)
{
	struct line line = { .name = text };
	char *colon = strchr(text, ':'), *blank = strpbrk(text, " \t"), *end = colon;

	if (!colon || !strncmp(text, "inotify ", 8) || !strncmp(text, "fanotify ", 9))
		end = blank;
	if (!end) {
		line.value = text + strlen(text);
		return line;
	}
	*end = '\0';
	line.value = end + 1;
	return line;
}

/* Writes the lines of `text`, sorted; those of one name as one fact. */
static void write_lines(FILE *file, char *text)
{
	struct line *lines = NULL;
	size_t count = 0;
	char *row;

	while ((row = strsep(&text, "\n"))) {
		struct line line = split(row);

		if (!*row || is_left_out(line.name))
			continue;
		if (!strcmp(line.name, "flags"))
			clear_flags(line.value + strspn(line.value, " \t"));
		join_words(&line);
		APPEND(lines, count, line);
	}
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++) {
		if (i && !strcmp(lines[i].name, lines[i - 1].name)) {
			fputc(';', file);
			fact_write_value(file, lines[i].value);
		} else {
			fact_write(file, lines[i].name, lines[i].value);
		}
	}
	free(lines);
}

/* "socket:[7]" → "socket", "anon_inode:[eventfd]" → "eventfd"; what has a path is a file. */
static void write_kind(FILE *file, char *target)
{
	char *colon = strchr(target, ':'), *name = target;

	if (*target == '/' || !colon) {
		fact_write(file, "kind", "file");
		return;
	}
	if (!strncmp(target, "anon_inode:", strlen("anon_inode:"))) {
		name = colon + 1 + (colon[1] == '[');
		name[strcspn(name, "]")] = '\0';
	} else {
		*colon = '\0';
	}
	fact_write(file, "kind", name);
}

/* A whole file, with a NUL behind it, to be freed; NULL with errno. Of an epoll with many descriptors it is long. */
static char *read_whole(int directory, const char *name)
{
	CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	size_t room = 1024, size = 0;
	char *text;

	if (fd < 0)
		return NULL;
	text = take_more(NULL, room, 1);
	for (;;) {
		ssize_t got = read(fd, text + size, room - size - 1);

		if (got < 0) {
			free(text);
			return NULL;
		}
		size += (size_t)got;
		if (!got)
			break;
		if (room - size < 512)
			text = take_more(text, room *= 2, 1);
	}
	text[size] = '\0';
	return text;
}

int told_write(FILE *file, const struct told_of *process, const char *number)
{
	char target[256];
	ssize_t length = readlinkat(process->links, number, target, sizeof(target) - 1);
	CLEANUP_FREE char *text = length < 0 ? NULL : read_whole(process->information, number);

	if (!text)
		return errno == ENOENT || errno == ESRCH ? 1 : fail_errno("Descriptor %s cannot be looked at", number);
	target[length] = '\0';
	write_kind(file, target);
	write_lines(file, text);
	return 0;
}
