/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page_server/soft_dirty.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base.h"

int clear_soft_dirty(uint64_t task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/clear_refs", task);
	CLEANUP_FD int file = open(path, O_WRONLY | O_CLOEXEC);

	/* 4: the soft-dirty bits, Documentation/filesystems/proc.rst. */
	if (file < 0 || write(file, "4", 1) != 1)
		return fail_errno("%s cannot be written", path);
	return 0;
}
