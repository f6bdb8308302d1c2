/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "regions.h"

#include <stdlib.h>
#include <string.h>

#include "wire.h"

static struct region *insert_at(struct regions *regions, size_t index, struct region region)
{
	if (regions->count == regions->room) {
		regions->room = regions->room ? regions->room * 2 : 64;
		regions->list = take_more(regions->list, regions->room, sizeof(*regions->list));
	}
	memmove(regions->list + index + 1, regions->list + index, (regions->count - index) * sizeof(*regions->list));
	regions->list[index] = region;
	regions->count++;
	return &regions->list[index];
}

static void erase(struct regions *regions, size_t from, size_t to)
{
	memmove(regions->list + from, regions->list + to, (regions->count - to) * sizeof(*regions->list));
	regions->count -= to - from;
}

/* Index of the first region that ends behind this address. */
static size_t first_behind(const struct regions *regions, uint64_t address)
{
	size_t low = 0, high = regions->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (region_end(&regions->list[middle]) > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static size_t bitmap_words(uint64_t bits)
{
	return (size_t)(bits / 64 + 1);
}

void regions_init(struct regions *regions, const struct runs *runs)
{
	*regions = (struct regions){ 0 };
	for (size_t i = 0; i < runs->count; i++) {
		const struct run *run = &runs->list[i];

		if (!(run->flags & PE_LAZY))
			continue;
		insert_at(regions, regions->count,
			  (struct region){ .start = run->address, .pages = run->pages, .source = run->address, .bit = regions->bits });
		regions->bits += run->pages;
	}
	regions->left = regions->bits;
	regions->installed = take(bitmap_words(regions->bits) * sizeof(uint64_t));
}

int regions_load(struct regions *regions, const struct region *list, size_t count, uint64_t bits)
{
	uint64_t end = 0;

	*regions = (struct regions){ .bits = bits };
	for (size_t i = 0; i < count; i++) {
		const struct region *region = &list[i];

		if (region->start < end || region->start % PAGE_SIZE || !region->pages || region->pages > PAGES_MAX ||
		    region_end(region) > ADDRESS_END || region->bit > bits || region->pages > bits - region->bit) {
			regions_free(regions);
			return -1;
		}
		end = region_end(region);
		insert_at(regions, regions->count, *region);
		regions->left += region->pages;
	}
	regions->installed = take(bitmap_words(bits) * sizeof(uint64_t));
	return 0;
}

void regions_copy(struct regions *to, const struct regions *from)
{
	size_t size = bitmap_words(from->bits) * sizeof(uint64_t);

	*to = *from;
	to->room = from->count;
	to->list = take(from->count * sizeof(*to->list));
	memcpy(to->list, from->list, from->count * sizeof(*to->list));
	to->installed = take(size);
	memcpy(to->installed, from->installed, size);
}

void regions_free(struct regions *regions)
{
	free(regions->list);
	free(regions->installed);
	*regions = (struct regions){ 0 };
}

struct region *regions_find(struct regions *regions, uint64_t address)
{
	size_t index = first_behind(regions, address);

	return index < regions->count && regions->list[index].start <= address ? &regions->list[index] : NULL;
}

bool regions_installed(const struct regions *regions, uint64_t bit)
{
	return regions->installed[bit / 64] >> (bit % 64) & 1;
}

void regions_set_installed(struct regions *regions, uint64_t bit)
{
	if (regions_installed(regions, bit))
		return;
	regions->installed[bit / 64] |= (uint64_t)1 << (bit % 64);
	regions->left--;
}

/* First bit in [from, to) that is clear, or to. */
static uint64_t next_clear(const struct regions *regions, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t word = ~regions->installed[from / 64] >> (from % 64);

		if (word) {
			from += (uint64_t)__builtin_ctzll(word);
			return from < to ? from : to;
		}
		from = (from / 64 + 1) * 64;
	}
	return to;
}

static bool next_in(const struct regions *regions, const struct region *region, uint64_t most, uint64_t *address,
		    uint64_t *pages)
{
	uint64_t offset = *address > region->start ? (*address - region->start) / PAGE_SIZE : 0;
	uint64_t end = region->bit + region->pages;
	uint64_t bit = next_clear(regions, region->bit + offset, end);

	if (bit == end)
		return false;
	*address = region->start + (bit - region->bit) * PAGE_SIZE;
	for (*pages = 1; *pages < most && bit + *pages < end && !regions_installed(regions, bit + *pages);)
		++*pages;
	return true;
}

bool regions_next(struct regions *regions, uint64_t most, uint64_t *address, uint64_t *pages)
{
	if (!regions->left)
		return false;
	for (int round = 0; round < 2; round++) {
		for (size_t i = first_behind(regions, regions->cursor); i < regions->count; i++) {
			*address = regions->cursor;
			if (next_in(regions, &regions->list[i], most, address, pages)) {
				regions->cursor = *address;
				return true;
			}
		}
		regions->cursor = 0;
	}
	return false;
}

/* Makes a border of a region at this address, if it lies within one. */
static void split_at(struct regions *regions, uint64_t address)
{
	size_t index = first_behind(regions, address);
	struct region tail;
	uint64_t before;

	if (index == regions->count || regions->list[index].start >= address)
		return;
	tail = regions->list[index];
	before = (address - tail.start) / PAGE_SIZE;
	regions->list[index].pages = before;
	tail.start += before * PAGE_SIZE;
	tail.source += before * PAGE_SIZE;
	tail.bit += before;
	tail.pages -= before;
	insert_at(regions, index + 1, tail);
}

/* Nothing of this region is wanted any more: its bits count as installed. */
static void give_up(struct regions *regions, const struct region *region)
{
	for (uint64_t i = 0; i < region->pages; i++)
		regions_set_installed(regions, region->bit + i);
}

/* The indices [first, last) of the regions within [start, end), cut at its borders. */
static void cut_out(struct regions *regions, uint64_t start, uint64_t end, size_t *first, size_t *last)
{
	split_at(regions, start);
	split_at(regions, end);
	*first = first_behind(regions, start);
	for (*last = *first; *last < regions->count && regions->list[*last].start < end;)
		++*last;
}

void regions_remove(struct regions *regions, uint64_t start, uint64_t end)
{
	size_t first, last;

	cut_out(regions, start, end, &first, &last);
	for (size_t i = first; i < last; i++)
		give_up(regions, &regions->list[i]);
	erase(regions, first, last);
}

void regions_unmap(struct regions *regions, uint64_t start, uint64_t end)
{
	size_t first, last, kept;

	cut_out(regions, start, end, &first, &last);
	kept = first;
	for (size_t i = first; i < last; i++) {
		if (regions->list[i].moved) {
			regions->cursor = regions->list[i].start;
			regions->list[kept++] = regions->list[i];
		} else {
			give_up(regions, &regions->list[i]);
		}
	}
	erase(regions, kept, last);
}

void regions_move(struct regions *regions, uint64_t from, uint64_t to, uint64_t size)
{
	CLEANUP_FREE struct region *moved = NULL;
	size_t first, last, count;

	cut_out(regions, from, from + size, &first, &last);
	count = last - first;
	moved = take(count * sizeof(*moved));
	memcpy(moved, regions->list + first, count * sizeof(*moved));
	erase(regions, first, last);
	/* Whatever was at the destination has been unmapped by the same call. */
	regions_remove(regions, to, to + size);
	for (size_t i = 0; i < count; i++) {
		moved[i].start += to - from;
		moved[i].moved = 1;
		insert_at(regions, first_behind(regions, moved[i].start), moved[i]);
	}
}
