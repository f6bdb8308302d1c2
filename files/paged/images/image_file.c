/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/image_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define IMAGE_MAX ((size_t)1 << 30)

int image_read(int directory, const char *kind, uint64_t id, image_parser parse, void *into)
{
	char name[IMAGE_NAME_SIZE];

	snprintf(name, sizeof(name), "%s-%" PRIu64 ".img", kind, id);

	CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE void *bytes = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return fail_errno("the image %s cannot be opened", name);
	if (status.st_size < 0 || (size_t)status.st_size > IMAGE_MAX)
		return fail("the image %s has %jd bytes, expected at most %zu", name, (intmax_t)status.st_size, IMAGE_MAX);
	bytes = take((size_t)status.st_size);
	if (read_all_at(fd, bytes, (size_t)status.st_size, 0))
		return fail_errno("the image %s cannot be read", name);
	return parse(bytes, (size_t)status.st_size, name, into);
}
