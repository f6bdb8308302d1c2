/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The size is not taken out, which would move all that follows: its field gets a number that CRIU does not know, and ignores. images/
 * fdinfo.proto and regfile.proto of CRIU have the numbers.
 */
#include "forget_size.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base.h"
#include "common/protobuf.h"

/* criu/include/magic.h */
#define FILES_MAGIC 0x56303138u
#define IMAGE_MAX ((size_t)1 << 30)

/* file_entry */
enum { ENTRY_REG = 3 };
/* reg_file_entry */
enum { REG_NAME = 6, REG_SIZE = 8, REG_UNKNOWN = 15 };
/* The first byte of a number with this field number, up to 15. */
#define KEY_OF(field) ((uint8_t)((field) << 3))

/* Finds the key of the size in the entry of the file `path`; NULL if it is of another file or has no size. -1 if it is broken. */
static int find_key(struct bytes entry, const char *path, const uint8_t **key)
{
	size_t length = strlen(path);
	bool named = false;
	struct field field;

	*key = NULL;
	while (entry.at < entry.end) {
		const uint8_t *at = entry.at;

		if (!take_field(&entry, &field))
			return -1;
		if (field.number == REG_NAME && field.content.at && field.value == length &&
		    !memcmp(field.content.at, path, length))
			named = true;
		else if (field.number == REG_SIZE && *at == KEY_OF(REG_SIZE))
			*key = at;
	}
	if (!named)
		*key = NULL;
	return 0;
}

long forget_size_in(unsigned char *bytes, size_t size, const char *path)
{
	struct bytes image = { .at = bytes, .end = bytes + size }, message;
	struct field field;
	const uint8_t *key;
	long changed = 0;

	if (!take_magic(&image, FILES_MAGIC))
		return -1;
	while (image.at < image.end) {
		if (!take_message(&image, &message))
			return -1;
		while (message.at < message.end) {
			if (!take_field(&message, &field))
				return -1;
			if (field.number != ENTRY_REG || !field.content.at)
				continue;
			if (find_key(field.content, path, &key))
				return -1;
			if (key) {
				bytes[key - bytes] = KEY_OF(REG_UNKNOWN);
				changed++;
			}
		}
	}
	return changed;
}

int forget_size(const char *images, const char *path)
{
	char name[PATH_MAX];
	struct stat status;
	long changed;

	if (snprintf(name, sizeof(name), "%s/files.img", images) >= (int)sizeof(name))
		return fail("the name of the folder of images is too long");
	CLEANUP_FD int fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE unsigned char *bytes = NULL;

	if (fd < 0 || fstat(fd, &status))
		return fail_errno("the image %s cannot be opened", name);
	if ((size_t)status.st_size > IMAGE_MAX)
		return fail("the image %s has %jd bytes, expected at most %zu", name, (intmax_t)status.st_size, IMAGE_MAX);
	bytes = take((size_t)status.st_size);
	if (read_all_at(fd, bytes, (size_t)status.st_size, 0))
		return fail_errno("the image %s cannot be read", name);
	changed = forget_size_in(bytes, (size_t)status.st_size, path);
	if (changed < 0)
		return fail("the image %s is not as CRIU writes it", name);
	return changed && write_all_at(fd, bytes, (size_t)status.st_size, 0) ? fail_errno("the image %s cannot be written", name) :
									       0;
}
