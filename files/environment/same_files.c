/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "same_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base.h"
#include "forget_size.h"
#include "identity.h"

#define TIME_SIZE 48

/* A difference in words, empty if there is none. */
struct words {
	char text[400];
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *words, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words->text, sizeof(words->text), format, arguments);
	va_end(arguments);
}

static const char *time_text(char *text, int64_t nanoseconds)
{
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct tm parts;
	char date[32];

	if (!gmtime_r(&seconds, &parts) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts))
		strcpy(date, "?");
	snprintf(text, TIME_SIZE, "%s.%09dZ", date, (int)(llabs(nanoseconds) % 1000000000));
	return text;
}

static void say_time(struct words *words, const char *what, int64_t now, int64_t then)
{
	char one[TIME_SIZE], other[TIME_SIZE];

	say(words, "%s at %s, expected %s", what, time_text(one, now), time_text(other, then));
}

/* What is different of a file that is only mapped: its content decides, whatever file has it now. */
static void compare_content(struct words *words, const struct identity *then, const struct identity *now)
{
	if (now->size != then->size)
		say(words, "has %" PRIu64 " bytes, expected %" PRIu64, now->size, then->size);
	else if (now->modified != then->modified)
		say_time(words, "was written", now->modified, then->modified);
}

static void compare_all(struct words *words, const struct identity *then, const struct identity *now)
{
	if (now->type != then->type || now->fsid != then->fsid)
		say(words, "is on another file system");
	/* A kernel may know times of birth that the other does not. */
	else if (now->inode != then->inode || (now->born && then->born && now->born != then->born))
		say(words, "is another file (inode %" PRIu64 ", expected %" PRIu64 ")", now->inode, then->inode);
	else if (now->owner != then->owner || now->group != then->group)
		say(words, "belongs to %" PRIu64 ":%" PRIu64 ", expected %" PRIu64 ":%" PRIu64, now->owner, now->group, then->owner,
		    then->group);
	else
		compare_content(words, then, now);
	if (!*words->text && now->changed != then->changed)
		say_time(words, "was changed", now->changed, then->changed);
}

/* Looks at the file now. Returns whether there is one that can be compared. */
static bool look(struct words *words, const char *path, struct identity *now)
{
	struct statx status;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, IDENTITY_MASK, &status))
		say(words, "is not there (%s)", strerror(errno));
	else if (!S_ISREG(status.stx_mode))
		say(words, "is no regular file any more");
	else if (identity_fill(now, &status, path))
		say(words, "is on a file system that cannot be asked (%s)", strerror(errno));
	return !*words->text;
}

/* Whether nothing but growth can have happened to the file. */
static bool has_only_grown(const struct identity *then, const struct identity *now)
{
	struct identity grown = *now;
	struct words words = { "" };

	grown.size = then->size;
	grown.modified = then->modified;
	grown.changed = then->changed;
	compare_all(&words, then, &grown);
	return !*words.text && now->size > then->size;
}

static void compare(struct words *words, const struct identity *then, const char *images)
{
	struct identity now = { 0 };

	if (!look(words, then->path, &now))
		return;
	if (then->use == USE_MAPPED) {
		compare_content(words, then, &now);
	} else if (then->use == USE_APPENDED && images && has_only_grown(then, &now)) {
		note("%s has grown by %" PRIu64 " bytes since the checkpoint: another program writes it", then->path,
		     now.size - then->size);
		/* CRIU says itself what it then refuses. */
		(void)forget_size(images, then->path);
	} else {
		compare_all(words, then, &now);
	}
}

enum same_files same_files(const char *list, const char *images)
{
	int fd = open(list, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	enum same_files result = FILES_SAME;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!stream) {
		fail_errno("the list %s cannot be opened", list);
		return FILES_BROKEN;
	}
	while (result == FILES_SAME && (length = getline(&line, &room, stream)) > 0) {
		struct identity then;
		struct words words = { "" };

		if (line[length - 1] != '\n' || strlen(line) != (size_t)length) {
			result = FILES_BROKEN;
			break;
		}
		line[length - 1] = '\0';
		if (identity_parse(&then, line)) {
			result = FILES_BROKEN;
			break;
		}
		compare(&words, &then, images);
		if (*words.text) {
			fail("the file %s %s", then.path, words.text);
			result = FILES_DIFFER;
		}
	}
	if (result == FILES_SAME && ferror(stream))
		result = FILES_BROKEN;
	if (result == FILES_BROKEN)
		fail("the list %s is broken, expected lines as the freeze writes them", list);
	free(line);
	fclose(stream);
	return result;
}
