/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of this program: lines of words, for people as well. The first line names the format. Each other line begins with what it
 * tells of; every kind has its own reader. Values are numbers, or "x" and hexadecimal digits: nothing that an application has chosen
 * stands there as it is.
 */
#ifndef FINGERPRINT_LINES_H
#define FINGERPRINT_LINES_H

#include <stdio.h>

#include "base/processes.h"

#define LINES_HEAD "kup-fingerprint 3"
/* Bounds of what is read. A file beyond them was not written by this program. */
#define LINES_BYTES_MAX ((size_t)512 << 20)
#define WORDS_MAX 160
#define VALUE_MAX 4096

/* Appends an element to a list whose length is a power of two when it grows. */
#define APPEND(list, count, element)                                                            \
	do {                                                                                    \
		if (!((count) & ((count) - 1)))                                                 \
			(list) = take_more((list), (count) ? 2 * (count) : 1, sizeof(*(list))); \
		(list)[(count)++] = (element);                                                  \
	} while (0)

struct words {
	char *word[WORDS_MAX];
	size_t count;
};

/* Splits `line` in place, at single blanks: the words follow each other in memory. -1 if one is empty, or there are too many. */
int words_split(char *line, struct words *words);

/* Writes bytes as a word, or reads them again. The reader returns their number; -1 if it is no such word or has more than `max`. */
void value_write(FILE *file, const void *bytes, size_t size);
ssize_t value_read(const char *word, void *bytes, size_t max);

/* Reads a whole file, with a NUL behind it. NULL after saying why not. */
char *lines_load(const char *path, size_t *size);
/*
 * Calls `reader` with the words of each line behind the first, which is `head`. -1 after saying what is wrong, also if `reader` refuses a
 * line.
 */
int lines_each(char *text, size_t size, const char *name, const char *head, int (*reader)(struct words *words, void *context),
	       void *context);

#endif
