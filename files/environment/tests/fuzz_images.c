/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRIU's table of files is refused, or changed within its bounds. The bytes are the path, a zero byte, and the table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base.h"
#include "forget_size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	if (!end)
		return 0;
	length = size - (size_t)(end + 1 - data);
	bytes = take(length);
	memcpy(bytes, end + 1, length);
	/* What was an image is one afterwards. */
	if (forget_size_in(bytes, length, (const char *)data) >= 0 && forget_size_in(bytes, length, (const char *)data) < 0)
		abort();
	return 0;
}
