/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: CRIU's images and the journal. The first byte chooses the parser. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "images/core.h"
#include "images/mm.h"
#include "images/pagemap.h"
#include "serve/journal.h"
#include "serve/regions.h"
#include "snapshot.h"

static char directory[64], path[96];

static void try_journal(const uint8_t *data, size_t size)
{
	struct journal journal;
	int fd;

	if (!*directory) {
		strcpy(directory, "/dev/shm/paged-fuzz.XXXXXX");
		CHECK(mkdtemp(directory));
		snprintf(path, sizeof(path), "%s/journal", directory);
		fuzz_remove_at_exit(directory);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size && !close(fd));
	if (journal_open(&journal, path))
		return;
	for (uint64_t i = 0; i < journal.next; i++)
		(void)slot_descriptor(&journal.slots[i]);
	journal_close(&journal);
}

/* A pagemap as a task's regions, with the same areas, and events from the rest of the input. */
static void try_regions(const struct runs *runs, const uint8_t *data, size_t size)
{
	struct runs areas = { 0 };
	struct regions regions;
	uint64_t words[3];

	for (size_t i = 0; i < runs->count; i++)
		if (runs->list[i].flags & 2)
			runs_add(&areas, runs->list[i].address, runs->list[i].pages, 2);
	if (areas.count && !regions_init(&regions, runs, &areas)) {
		for (; size > sizeof(words); size -= sizeof(words), data += sizeof(words)) {
			memcpy(words, data, sizeof(words));
			for (int i = 0; i < 3; i++)
				words[i] &= ((uint64_t)1 << 47) - 4096;
			if (words[0] & 1 << 13)
				regions_move(&regions, words[0], words[1], words[2] & 0xffff000);
			else if (words[0] & 1 << 14)
				regions_unmap(&regions, words[0], words[0] + (words[1] & 0xffff000));
			else
				regions_remove(&regions, words[0], words[0] + (words[1] & 0xffff000));
		}
		regions_free(&regions);
	}
	runs_free(&areas);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runs runs = { 0 };

	if (!size)
		return -1;
	switch (data[0] % 4) {
	case 0:
		if (!pagemap_parse(data + 1, size - 1, "pagemap", &runs)) {
			uint64_t pages = 0;

			for (size_t i = 0; i < runs.count; i++)
				pages += runs.list[i].pages;
			/* A bitmap of gigabytes says nothing new. */
			if (pages < 1 << 20)
				try_regions(&runs, data, size);
		}
		break;
	case 1:
		(void)mm_parse(data + 1, size - 1, "mm", &runs);
		break;
	case 2: {
		struct core core;

		(void)core_parse(data + 1, size - 1, "core", &core);
		break;
	}
	default:
		try_journal(data + 1, size - 1);
	}
	runs_free(&runs);
	return 0;
}
