/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions under events, against a table with one entry for each page. */
#include <stdlib.h>
#include <string.h>

#include "page_server/wire.h"
#include "serve/regions.h"
#include "snapshot.h"
#include "unit.h"

#define MODEL_PAGES 512
#define MODEL_BASE ((uint64_t)0x100000)

struct model {
	/* Source page + 1, 0 for zeros or nothing. */
	uint64_t source[MODEL_PAGES];
	bool area[MODEL_PAGES];
};

static void compare_regions(struct regions *regions, const struct model *model)
{
	uint64_t left = 0, end = 0;

	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		const struct region *region = regions_find(regions, MODEL_BASE + i * 4096);
		uint64_t source = 0;

		CHECK(!region == !model->area[i]);
		if (region && region->source != SOURCE_ZEROS) {
			uint64_t offset = MODEL_BASE + i * 4096 - region->start, address = 0;

			CHECK(regions_find_bit(regions, region->bit + offset / 4096, &address) && address == MODEL_BASE + i * 4096);
			source = (region->source + offset - MODEL_BASE) / 4096 + 1;
			left += !regions_installed(regions, region->bit + offset / 4096);
		}
		CHECK(source == model->source[i]);
	}
	CHECK(left == regions->left);
	for (size_t i = 0; i < regions->now.count; i++) {
		CHECK(regions->now.list[i].start >= end && regions->now.list[i].pages);
		end = region_end(&regions->now.list[i]);
	}
	CHECK(!regions->shadow.count);
}

static void model_event(struct regions *regions, struct model *model)
{
	uint64_t first = (uint64_t)rand() % MODEL_PAGES, count = 1 + (uint64_t)rand() % 40, to = (uint64_t)rand() % MODEL_PAGES;
	struct model before;

	if (first + count > MODEL_PAGES)
		count = MODEL_PAGES - first;
	switch (rand() % 3) {
	case 0:
		regions_remove(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		memset(&model->source[first], 0, count * sizeof(*model->source));
		return;
	case 1:
		regions_unmap(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		memset(&model->source[first], 0, count * sizeof(*model->source));
		memset(&model->area[first], 0, count * sizeof(*model->area));
		return;
	default:
		if (to + count > MODEL_PAGES || (to < first + count && first < to + count))
			return;
		/* As mremap(2) does: unmaps the destination, moves, unmaps the source. */
		regions_unmap(regions, MODEL_BASE + to * 4096, MODEL_BASE + (to + count) * 4096);
		regions_move(regions, MODEL_BASE + first * 4096, MODEL_BASE + to * 4096, count * 4096);
		regions_unmap(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		before = *model;
		memcpy(&model->source[to], &before.source[first], count * sizeof(*model->source));
		memcpy(&model->area[to], &before.area[first], count * sizeof(*model->area));
		memset(&model->source[first], 0, count * sizeof(*model->source));
		memset(&model->area[first], 0, count * sizeof(*model->area));
	}
}

static void prefetch_some(struct regions *regions)
{
	uint64_t address, pages;

	regions->cursor = MODEL_BASE + (uint64_t)rand() % MODEL_PAGES * 4096;
	if (!regions_next(regions, 16, &address, &pages))
		return;
	for (uint64_t i = 0; i < pages; i++) {
		struct region *region = regions_find(regions, address + i * 4096);

		CHECK(region && region->source != SOURCE_ZEROS);
		regions_set_installed(regions, region->bit + (address - region->start) / 4096 + i);
	}
}

void test_regions(void)
{
	struct runs runs = { 0 }, areas = { 0 };
	struct regions regions, child, loaded;
	struct model model = { 0 };

	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		/* An area with holes, and content with holes. */
		model.area[i] = i % 100 < 80;
		model.source[i] = model.area[i] && i % 7 < 5 ? i + 1 : 0;
		if (model.area[i])
			runs_add(&areas, MODEL_BASE + i * 4096, 1, PE_LAZY);
		if (model.source[i])
			runs_add(&runs, MODEL_BASE + i * 4096, 1, PE_LAZY);
	}
	CHECK(!regions_init(&regions, &runs, &areas));
	compare_regions(&regions, &model);
	for (int i = 0; i < 60; i++) {
		model_event(&regions, &model);
		prefetch_some(&regions);
		compare_regions(&regions, &model);
	}
	regions_copy(&child, &regions);
	compare_regions(&child, &model);
	/* What a journal saves: all but the bits, which only say what need not be done again. */
	CHECK(!regions_load(&loaded, regions.now.list, regions.now.count, regions.bits));
	while (regions.left) {
		CHECK(regions_next(&regions, 100, &(uint64_t){ 0 }, &(uint64_t){ 0 }));
		prefetch_some(&regions);
	}
	compare_regions(&loaded, &model);
	regions_free(&regions);
	regions_free(&child);
	regions_free(&loaded);
	areas.count--;
	CHECK(regions_init(&regions, &runs, &areas));
	runs_free(&runs);
	runs_free(&areas);
}

static uint64_t source_at(struct regions *regions, uint64_t page)
{
	const struct region *region = regions_find(regions, page * 4096);

	return region && region->source != SOURCE_ZEROS ? (region->source + page * 4096 - region->start) / 4096 : 0;
}

/* Events in the order in which two threads can really produce them. */
void test_overtaken_events(void)
{
	struct runs runs = { 0 };
	struct regions regions;

	runs_add(&runs, 16 * 4096, 64, PE_LAZY);
	CHECK(!regions_init(&regions, &runs, &runs));
	/* One unmaps 16-20, another moves 30-34 there, and the second event comes first. */
	regions_move(&regions, 30 * 4096, 16 * 4096, 4 * 4096);
	regions_unmap(&regions, 30 * 4096, 34 * 4096);
	regions_unmap(&regions, 16 * 4096, 20 * 4096);
	CHECK(source_at(&regions, 16) == 30 && source_at(&regions, 19) == 33 && !source_at(&regions, 30));
	/* One moves 40-44 away to 100, another moves 50-54 to 40 in between its two events. */
	regions_move(&regions, 40 * 4096, 100 * 4096, 4 * 4096);
	regions_move(&regions, 50 * 4096, 40 * 4096, 4 * 4096);
	regions_unmap(&regions, 40 * 4096, 44 * 4096);
	regions_unmap(&regions, 50 * 4096, 54 * 4096);
	CHECK(source_at(&regions, 100) == 40 && source_at(&regions, 40) == 50 && !source_at(&regions, 50));
	/* The same, but even the first event comes after the other's. */
	regions_move(&regions, 60 * 4096, 70 * 4096, 4 * 4096);
	regions_move(&regions, 70 * 4096, 200 * 4096, 4 * 4096);
	regions_unmap(&regions, 60 * 4096, 64 * 4096);
	regions_unmap(&regions, 70 * 4096, 74 * 4096);
	CHECK(source_at(&regions, 200) == 70 && source_at(&regions, 70) == 60 && !source_at(&regions, 60));
	CHECK(!regions.shadow.count && !regions.moved_away.count);
	regions_free(&regions);
	runs_free(&runs);
}

/* What a journal may not say. */
void test_damaged_regions(void)
{
	const struct region wrong[][2] = {
		/* Beyond the snapshot's pages, overlapping, no page address, no pages, outside of user space. */
		{ { 0x10000, 4, 0x10000, 61 }, { 0x20000, 1, 0x20000, 0 } },
		{ { 0x10000, 4, 0x10000, UINT64_MAX }, { 0x20000, 1, 0x20000, 0 } },
		{ { 0x10000, 4, 0x10000, 0 }, { 0x13000, 1, 0x20000, 4 } },
		{ { 0x10001, 4, 0x10000, 0 }, { 0x20000, 1, 0x20000, 4 } },
		{ { 0x10000, 0, 0x10000, 0 }, { 0x20000, 1, 0x20000, 4 } },
		{ { 0x10000, 4, 0x10000, 0 }, { ADDRESS_END - 0x1000, 2, SOURCE_ZEROS, 0 } },
	};
	const struct region right[] = { { 0x10000, 4, 0x10000, 60 }, { 0x20000, 1, SOURCE_ZEROS, 1000 } };
	struct regions regions;

	CHECK(!regions_load(&regions, right, 2, 64) && regions.left == 4);
	regions_free(&regions);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(regions_load(&regions, wrong[i], 2, 64));
}
