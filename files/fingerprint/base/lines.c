/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int words_split(char *line, struct words *words)
{
	char *blank;

	words->count = 0;
	for (;; line = blank + 1) {
		blank = strchr(line, ' ');
		if (blank)
			*blank = '\0';
		if (!*line || words->count == WORDS_MAX)
			return -1;
		words->word[words->count++] = line;
		if (!blank)
			return 0;
	}
}

void value_write(FILE *file, const void *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *byte = bytes;

	fputc('x', file);
	for (size_t i = 0; i < size; i++) {
		fputc(digits[byte[i] >> 4], file);
		fputc(digits[byte[i] & 15], file);
	}
}

static int digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

ssize_t value_read(const char *word, void *bytes, size_t max)
{
	size_t length = strlen(word);
	unsigned char *byte = bytes;

	if (*word != 'x' || length % 2 == 0 || length / 2 > max)
		return -1;
	for (size_t i = 0; i < length / 2; i++) {
		int high = digit(word[1 + 2 * i]), low = digit(word[2 + 2 * i]);

		if (high < 0 || low < 0)
			return -1;
		byte[i] = (unsigned char)(high << 4 | low);
	}
	return (ssize_t)(length / 2);
}

char *lines_load(const char *path, size_t *size)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE char *text = NULL;
	struct stat status;
	char *loaded;

	if (fd < 0 || fstat(fd, &status)) {
		fail("The file %s cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(status.st_mode) || (size_t)status.st_size > LINES_BYTES_MAX) {
		fail("The file %s is no regular file of at most %zu bytes.", path, LINES_BYTES_MAX);
		return NULL;
	}
	text = take_more(NULL, (size_t)status.st_size + 1, 1);
	for (*size = 0; *size < (size_t)status.st_size;) {
		ssize_t got = read(fd, text + *size, (size_t)status.st_size - *size);

		if (got <= 0) {
			fail("The file %s cannot be read to its end.", path);
			return NULL;
		}
		*size += (size_t)got;
	}
	text[*size] = '\0';
	loaded = text;
	text = NULL;
	return loaded;
}

int lines_each(char *text, size_t size, const char *name, const char *head, int (*reader)(struct words *words, void *context),
	       void *context)
{
	struct words words;
	char *line = text, *end;
	size_t number = 0;

	/* The last line ends as well: nothing is cut off. */
	if (strlen(text) != size || !size || text[size - 1] != '\n')
		return fail("The file %s does not end with a whole line.", name);
	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		number++;
		if (number == 1) {
			if (strcmp(line, head))
				return fail("The file %s does not begin with \"%s\".", name, head);
			continue;
		}
		if (words_split(line, &words) || reader(&words, context))
			return fail("Line %zu of the file %s is not as it was written.", number, name);
	}
	return 0;
}
