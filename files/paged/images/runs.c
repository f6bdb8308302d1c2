/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/runs.h"

#include <stdlib.h>

void runs_free(struct runs *runs)
{
	free(runs->list);
	*runs = (struct runs){ 0 };
}

void runs_add(struct runs *runs, uint64_t address, uint64_t pages, unsigned int flags)
{
	struct run *last = runs->count ? &runs->list[runs->count - 1] : NULL;

	if (last && last->flags == flags && run_end(last) == address) {
		last->pages += pages;
		return;
	}
	if (runs->count == runs->room) {
		runs->room = runs->room ? runs->room * 2 : 64;
		runs->list = take_more(runs->list, runs->room, sizeof(*runs->list));
	}
	runs->list[runs->count++] = (struct run){ .address = address, .pages = pages, .flags = flags };
}

void runs_append(struct runs *runs, const struct runs *more, unsigned int flags)
{
	for (size_t i = 0; i < more->count; i++)
		runs_add(runs, more->list[i].address, more->list[i].pages, flags);
}

static int by_address(const void *a, const void *b)
{
	uint64_t one = ((const struct run *)a)->address, other = ((const struct run *)b)->address;

	return one < other ? -1 : one > other;
}

int runs_sort(struct runs *runs)
{
	bool sorted = true;

	for (size_t i = 1; i < runs->count && sorted; i++)
		sorted = runs->list[i - 1].address < runs->list[i].address;
	if (!sorted)
		qsort(runs->list, runs->count, sizeof(*runs->list), by_address);
	for (size_t i = 1; i < runs->count; i++)
		if (run_end(&runs->list[i - 1]) > runs->list[i].address)
			return -1;
	return 0;
}

uint64_t runs_pages(const struct runs *runs)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < runs->count; i++)
		pages += runs->list[i].pages;
	return pages;
}

bool runs_rest(const struct runs_cursor *cursor, struct run *rest)
{
	if (cursor->index >= cursor->runs->count)
		return false;
	*rest = cursor->runs->list[cursor->index];
	if (cursor->address > rest->address) {
		rest->pages -= (cursor->address - rest->address) / PAGE_SIZE;
		rest->address = cursor->address;
	}
	return true;
}

void runs_pass(struct runs_cursor *cursor, uint64_t address, struct runs *passed)
{
	struct run rest;

	while (runs_rest(cursor, &rest) && rest.address < address) {
		uint64_t end = run_end(&rest) < address ? run_end(&rest) : address;

		if (passed)
			runs_add(passed, rest.address, (end - rest.address) / PAGE_SIZE, rest.flags);
		cursor->address = end;
		cursor->index += end == run_end(&rest);
	}
}

void runs_divide(const struct runs *all, const struct runs *areas, struct runs *inside, struct runs *outside)
{
	struct runs_cursor cursor = { .runs = all };

	for (size_t i = 0; i < areas->count; i++) {
		runs_pass(&cursor, areas->list[i].address, outside);
		runs_pass(&cursor, run_end(&areas->list[i]), inside);
	}
	runs_pass(&cursor, UINT64_MAX, outside);
}
