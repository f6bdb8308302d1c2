/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "common/base.h"

#define FIRST_LINE "kup-environment 1"

static const struct {
	const char *name;
	/* Words behind the object. */
	unsigned int count;
} kinds[KINDS] = {
	[CLOCK] = { "clock", THEN_WORDS },
	[SYSCTL] = { "sysctl", 1 },   [MOUNT] = { "mount", 1 }, [DIRECTORY] = { "directory", 3 }, [FILE_COPY] = { "file", 6 },
	[FIFO] = { "fifo", 3 },       [SYMLINK] = { "symlink", 3 }, [HARDLINK] = { "hardlink", 1 }, [XATTR] = { "xattr", 2 },
	[PRIVATE] = { "private", 3 },
	[IPC_SEGMENT] = { "segment", 0 }, [IPC_MEMORY] = { "memory", 9 }, [IPC_SEMAPHORES] = { "semaphores", 8 },
	[IPC_QUEUE] = { "queue", 10 }, [IPC_SETTLE] = { "settle", 3 },
};

const char *kind_name(enum kind kind)
{
	return kinds[kind].name;
}

enum kind kind_named(const char *name)
{
	enum kind kind = 0;

	while (kind < KINDS && strcmp(kinds[kind].name, name))
		kind++;
	return kind;
}

long word_number(const struct word *word, int base, long most)
{
	char *end;

	if (!word->length || word->text[0] < '0' || word->text[0] > '9')
		return -1;
	errno = 0;
	long value = strtol(word->text, &end, base);

	return errno || end != word->text + word->length || value > most ? -1 : value;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the word from `at` to `end`, in place. Its zero byte replaces the blank, newline or zero byte at `end`. */
static int decode(struct word *word, char *at, const char *end)
{
	char *to = at;

	word->text = at;
	if (end - at == 1 && *at == '%')
		at++;
	while (at < end) {
		if (*at != '%') {
			*to++ = *at++;
			continue;
		}
		if (end - at < 3 || digit(at[1]) < 0 || digit(at[2]) < 0)
			return -1;
		*to++ = (char)(digit(at[1]) << 4 | digit(at[2]));
		at += 3;
	}
	*to = '\0';
	word->length = (size_t)(to - word->text);
	return word->length > WORD_BYTES_MAX ? -1 : 0;
}

static int split(struct word *words, unsigned int *count, char *line, char *end)
{
	*count = 0;
	while (line <= end) {
		char *blank = memchr(line, ' ', (size_t)(end - line));
		char *stop = blank ? blank : end;

		if (*count == WORDS_MAX || stop == line || decode(&words[*count], line, stop))
			return -1;
		*stop = '\0';
		++*count;
		line = stop + 1;
	}
	return 0;
}

/* Whether the word is a C string. */
static bool plain(const struct word *word)
{
	return strlen(word->text) == word->length;
}

/* A step of these words; false if they are none. */
static bool make_step(struct step *step, struct word *words, unsigned int count)
{
	if (count < 4)
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (!plain(&words[i]) && !(i == 5 && !strcmp(words[0].text, "xattr")))
			return false;
	step->kind = kind_named(words[0].text);
	step->required = !strcmp(words[1].text, "required");
	step->unit = words[2].text;
	step->object = words[3].text;
	if (step->kind == KINDS || (!step->required && strcmp(words[1].text, "optional")))
		return false;
	/* The unit becomes part of a file's name. */
	if (!*step->unit || strlen(step->unit) > 240 || strchr(step->unit, '/') || !*step->object)
		return false;
	step->count = count - 4;
	memcpy(step->words, words + 4, step->count * sizeof(*words));
	return step->count == kinds[step->kind].count;
}

int plan_parse(struct plan *plan, char *text, size_t length)
{
	size_t number = 0, room = 0;
	char *line = text;

	*plan = (struct plan){ .text = text };
	while (line < text + length) {
		char *end = memchr(line, '\n', (size_t)(text + length - line));
		struct word words[WORDS_MAX];
		unsigned int count;

		number++;
		/* Without its newline the last line may be a part of what was written. */
		if (!end)
			return fail("line %zu of the plan has no end", number);
		*end = '\0';
		if (number == 1 && strcmp(line, FIRST_LINE))
			return fail("the plan does not begin with '%s'", FIRST_LINE);
		if (number > 1) {
			if (plan->count == room) {
				room = room ? 2 * room : 256;
				plan->steps = take_more(plan->steps, room, sizeof(*plan->steps));
			}
			if (split(words, &count, line, end) || !make_step(&plan->steps[plan->count], words, count))
				return fail("line %zu of the plan is not a step", number);
			plan->count++;
		}
		line = end + 1;
	}
	return number ? 0 : fail("the plan is empty");
}

int plan_read(struct plan *plan, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;

	*plan = (struct plan){ 0 };
	if (fd < 0 || fstat(fd, &status))
		return fail_errno("the plan %s cannot be opened", path);
	if (!S_ISREG(status.st_mode) || (status.st_uid != 0 && status.st_uid != geteuid()) || (status.st_mode & 022))
		return fail("the plan %s can be written by others than root", path);
	if ((size_t)status.st_size > PLAN_BYTES_MAX)
		return fail("the plan %s has %lld bytes, expected at most %zu", path, (long long)status.st_size, PLAN_BYTES_MAX);
	size_t length = (size_t)status.st_size;
	char *text = take(length + 1);

	plan->text = text;
	if (read_all_at(fd, text, length, 0))
		return fail_errno("the plan %s cannot be read", path);
	return plan_parse(plan, text, length);
}

void plan_free(struct plan *plan)
{
	free(plan->steps);
	free(plan->text);
	*plan = (struct plan){ 0 };
}
