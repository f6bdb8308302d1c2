/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of runs, against a table with one entry for each page. */
#include <stdlib.h>
#include <string.h>

#include "images/runs.h"
#include "snapshot.h"
#include "unit.h"

#define PAGES 200

/* How often each page is in the list, which must ascend. */
static void count(const struct runs *runs, int counts[PAGES])
{
	uint64_t end = 0;

	memset(counts, 0, PAGES * sizeof(*counts));
	for (size_t i = 0; i < runs->count; i++) {
		CHECK(runs->list[i].address >= end && runs->list[i].pages && runs->list[i].flags == 4);
		end = run_end(&runs->list[i]);
		for (uint64_t at = runs->list[i].address; at < end; at += PAGE_SIZE)
			counts[at / PAGE_SIZE]++;
	}
}

static void test_divide(void)
{
	struct runs all = { 0 }, areas = { 0 }, inside = { 0 }, outside = { 0 };
	int is_page[PAGES] = { 0 }, is_area[PAGES] = { 0 }, in[PAGES], out[PAGES];

	for (uint64_t i = 0; i < PAGES; i++)
		if (rand() % 4) {
			is_page[i] = 1;
			runs_add(&all, i * PAGE_SIZE, 1, 4);
		}
	/* Ascending by their beginning, one within another at times. */
	for (uint64_t i = 0, pages; i < PAGES; i += 1 + (uint64_t)rand() % 10) {
		pages = 1 + (uint64_t)rand() % 15;
		areas.list = take_more(areas.list, areas.count + 1, sizeof(*areas.list));
		areas.list[areas.count++] = (struct run){ .address = i * PAGE_SIZE, .pages = pages };
		for (uint64_t k = i; k < i + pages && k < PAGES; k++)
			is_area[k] = 1;
	}
	runs_divide(&all, &areas, &inside, &outside);
	count(&inside, in);
	count(&outside, out);
	for (int i = 0; i < PAGES; i++)
		CHECK(in[i] == (is_page[i] && is_area[i]) && out[i] == (is_page[i] && !is_area[i]));
	CHECK(runs_pages(&inside) + runs_pages(&outside) == runs_pages(&all));
	runs_free(&all);
	runs_free(&areas);
	runs_free(&inside);
	runs_free(&outside);
}

static void test_cursor(void)
{
	struct runs runs = { 0 }, passed = { 0 };
	struct runs_cursor cursor = { .runs = &runs };
	struct run rest;

	CHECK(!runs_rest(&cursor, &rest));
	runs_add(&runs, 0x1000, 2, 4);
	runs_add(&runs, 0x3000, 1, 4);
	runs_add(&runs, 0x8000, 2, 4);
	/* The second one continues the first one. */
	CHECK(runs.count == 2 && runs_rest(&cursor, &rest) && rest.address == 0x1000 && rest.pages == 3);
	runs_pass(&cursor, 0x2000, NULL);
	CHECK(runs_rest(&cursor, &rest) && rest.address == 0x2000 && rest.pages == 2);
	runs_pass(&cursor, 0x1000, &passed);
	CHECK(!passed.count && runs_rest(&cursor, &rest) && rest.address == 0x2000);
	runs_pass(&cursor, 0x9000, &passed);
	CHECK(passed.count == 2 && passed.list[0].address == 0x2000 && passed.list[0].pages == 2 && passed.list[1].pages == 1);
	CHECK(runs_rest(&cursor, &rest) && rest.address == 0x9000 && rest.pages == 1);
	runs_pass(&cursor, 0xa000, NULL);
	CHECK(!runs_rest(&cursor, &rest));
	runs_free(&runs);
	runs_free(&passed);
}

static void test_sort(void)
{
	struct runs runs = { 0 };

	runs_add(&runs, 0x8000, 2, 4);
	runs_add(&runs, 0x1000, 2, 4);
	runs_add(&runs, 0x3000, 1, 2);
	CHECK(!runs_sort(&runs) && runs.list[0].address == 0x1000 && runs.list[1].flags == 2 && runs.list[2].address == 0x8000);
	/* The last page of another run. */
	runs_add(&runs, 0x9000, 1, 4);
	CHECK(runs_sort(&runs));
	runs_free(&runs);
}

void test_runs(void)
{
	for (int i = 0; i < 200; i++)
		test_divide();
	test_cursor();
	test_sort();
}
