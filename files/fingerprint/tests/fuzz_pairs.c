/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: the file of the unix connections, which the new boot reads; what is accepted is written as it was read. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pairs/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *with_head(const uint8_t *data, size_t size, size_t *length)
{
	static const char head[] = PAIRS_HEAD "\n";
	char *text;

	*length = sizeof(head) - 1 + size;
	/* A copy, whose end the sanitizer watches. */
	text = take_more(NULL, *length + 1, 1);
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + sizeof(head) - 1, data, size);
	text[*length] = '\0';
	return text;
}

static char *written(const struct pairs *pairs, size_t *size)
{
	char *text = NULL;
	FILE *memory = open_memstream(&text, size);

	assert(memory);
	pairs_write(pairs, memory);
	assert(!fclose(memory));
	return text;
}

static void check_bounds(const struct pairs *pairs)
{
	uint64_t bytes = 0;

	assert(pairs->count <= PAIRS_MAX && pairs->bytes <= PAIRS_BYTES_MAX);
	for (size_t i = 0; i < 2 * pairs->count; i++) {
		const struct pair_end *end = &pairs->list[i / 2].ends[i % 2];

		assert(end->name_size <= PAIR_NAME_MAX && end->offset == bytes);
		bytes += end_bytes(end);
	}
	assert(bytes == pairs->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length, again_length;
	char *text = with_head(data, size, &length), *again, *twice;
	struct pairs pairs, copies;

	if (!pairs_parse(&pairs, text, length, "input")) {
		check_bounds(&pairs);
		again = written(&pairs, &again_length);
		twice = strdup(again);
		assert(twice && !pairs_parse(&copies, twice, again_length, "copy"));
		free(twice);
		twice = written(&copies, &length);
		assert(length == again_length && !memcmp(twice, again, length));
		free(twice);
		free(again);
		pairs_free(&copies);
	}
	pairs_free(&pairs);
	free(text);
	return 0;
}
