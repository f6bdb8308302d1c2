/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of a list of files is refused, or read and written again as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base.h"
#include "identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *line = take(size + 1), *written = NULL;
	struct identity first, second;
	size_t length = 0;
	FILE *stream;

	memcpy(line, data, size);
	if (identity_parse(&first, line))
		return 0;
	stream = open_memstream(&written, &length);
	if (identity_write(stream, &first) || fclose(stream) || written[length - 1] != '\n')
		abort();
	written[length - 1] = '\0';
	if (identity_parse(&second, written) || strcmp(first.path, second.path) || first.changed != second.changed ||
	    first.fsid != second.fsid || first.size != second.size)
		abort();
	return 0;
}
