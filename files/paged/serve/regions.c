/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/regions.h"

#include <stdlib.h>
#include <string.h>

#include "page_server/wire.h"

static void insert_at(struct region_list *list, size_t index, struct region region)
{
	if (list->count == list->room) {
		list->room = list->room ? list->room * 2 : 64;
		list->list = take_more(list->list, list->room, sizeof(*list->list));
	}
	memmove(list->list + index + 1, list->list + index, (list->count - index) * sizeof(*list->list));
	list->list[index] = region;
	list->count++;
}

/* Many regions that belong between the same two: the rest of the list is moved once. */
static void insert_all(struct region_list *list, size_t index, const struct region_list *more)
{
	if (!more->count)
		return;
	if (list->count + more->count > list->room) {
		list->room = 2 * (list->count + more->count);
		list->list = take_more(list->list, list->room, sizeof(*list->list));
	}
	memmove(list->list + index + more->count, list->list + index, (list->count - index) * sizeof(*list->list));
	memcpy(list->list + index, more->list, more->count * sizeof(*list->list));
	list->count += more->count;
}

static void erase(struct region_list *list, size_t from, size_t to)
{
	if (from == to)
		return;
	memmove(list->list + from, list->list + to, (list->count - to) * sizeof(*list->list));
	list->count -= to - from;
}

/* Index of the first region that ends behind this address. */
static size_t first_behind(const struct region_list *list, uint64_t address)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (region_end(&list->list[middle]) > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool has_content(const struct region *region)
{
	return region->source != SOURCE_ZEROS;
}

static size_t bitmap_words(uint64_t bits)
{
	return (size_t)(bits / 64 + 1);
}

static void add(struct regions *regions, uint64_t start, uint64_t end, bool content)
{
	struct region region = { .start = start, .pages = (end - start) / PAGE_SIZE, .source = content ? start : SOURCE_ZEROS };

	if (start == end)
		return;
	region.bit = regions->bits;
	if (content)
		regions->bits += region.pages;
	insert_at(&regions->now, regions->now.count, region);
}

int regions_init(struct regions *regions, const struct runs *runs, const struct runs *areas)
{
	uint64_t lazy = 0;
	size_t next = 0;

	*regions = (struct regions){ 0 };
	for (size_t i = 0; i < areas->count; i++) {
		uint64_t at = areas->list[i].address, end = at + areas->list[i].pages * PAGE_SIZE;

		for (; next < runs->count && runs->list[next].address < end; next++) {
			const struct run *run = &runs->list[next];
			uint64_t run_end = run->address + run->pages * PAGE_SIZE;

			if (!(run->flags & PE_LAZY) || run->address < at)
				continue;
			if (run_end > end)
				break;
			add(regions, at, run->address, false);
			add(regions, run->address, run_end, true);
			at = run_end;
		}
		add(regions, at, end, false);
	}
	regions->left = regions->bits;
	regions->installed = take(bitmap_words(regions->bits) * sizeof(uint64_t));
	for (size_t i = 0; i < runs->count; i++)
		if (runs->list[i].flags & PE_LAZY)
			lazy += runs->list[i].pages;
	if (lazy == regions->bits)
		return 0;
	regions_free(regions);
	return -1;
}

int regions_load(struct regions *regions, const struct region *list, size_t count, uint64_t bits)
{
	uint64_t end = 0;

	*regions = (struct regions){ .bits = bits };
	for (size_t i = 0; i < count; i++) {
		const struct region *region = &list[i];

		if (region->start < end || region->start % PAGE_SIZE || !region->pages || region->pages > ADDRESS_END / PAGE_SIZE ||
		    region_end(region) > ADDRESS_END ||
		    (has_content(region) && (region->bit > bits || region->pages > bits - region->bit))) {
			regions_free(regions);
			return -1;
		}
		end = region_end(region);
		insert_at(&regions->now, i, *region);
		if (has_content(region))
			regions->left += region->pages;
	}
	regions->installed = take(bitmap_words(bits) * sizeof(uint64_t));
	return 0;
}

/* Events still to come about the shadow are about the parent, so the child has no shadow. */
void regions_copy(struct regions *to, const struct regions *from)
{
	size_t size = bitmap_words(from->bits) * sizeof(uint64_t);

	*to = (struct regions){ .bits = from->bits, .left = from->left, .cursor = from->cursor };
	to->now.count = to->now.room = from->now.count;
	to->now.list = take(from->now.count * sizeof(*to->now.list));
	if (from->now.count)
		memcpy(to->now.list, from->now.list, from->now.count * sizeof(*to->now.list));
	to->installed = take(size);
	memcpy(to->installed, from->installed, size);
	for (size_t i = 0; i < from->shadow.count; i++)
		for (uint64_t j = 0; has_content(&from->shadow.list[i]) && j < from->shadow.list[i].pages; j++)
			regions_set_installed(to, from->shadow.list[i].bit + j);
}

void regions_free(struct regions *regions)
{
	free(regions->now.list);
	free(regions->shadow.list);
	free(regions->moved_away.list);
	free(regions->installed);
	*regions = (struct regions){ 0 };
}

struct region *regions_find(struct regions *regions, uint64_t address)
{
	size_t index = first_behind(&regions->now, address);

	return index < regions->now.count && regions->now.list[index].start <= address ? &regions->now.list[index] : NULL;
}

static bool has_bit(const struct region *region, uint64_t bit)
{
	return has_content(region) && bit >= region->bit && bit - region->bit < region->pages;
}

/* Where the region with this bit is if the bits ascend with the addresses, as they do until memory is moved. */
static size_t presumed_place(const struct region_list *list, uint64_t bit)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct region *region = &list->list[middle];

		if (region->bit + (has_content(region) ? region->pages : 0) > bit)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool regions_find_bit(const struct regions *regions, uint64_t bit, uint64_t *address)
{
	const struct region_list *now = &regions->now;
	size_t place = presumed_place(now, bit);

	if (place == now->count || !has_bit(&now->list[place], bit))
		for (place = 0; place < now->count && !has_bit(&now->list[place], bit);)
			place++;
	if (place == now->count)
		return false;
	*address = now->list[place].start + (bit - now->list[place].bit) * PAGE_SIZE;
	return true;
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

static bool next_in(const struct regions *regions, const struct region *region, uint64_t most, uint64_t *address, uint64_t *pages)
{
	uint64_t offset = *address > region->start ? (*address - region->start) / PAGE_SIZE : 0;
	uint64_t end = region->bit + region->pages;
	uint64_t bit = has_content(region) ? next_clear(regions, region->bit + offset, end) : end;

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
		for (size_t i = first_behind(&regions->now, regions->cursor); i < regions->now.count; i++) {
			*address = regions->cursor;
			if (next_in(regions, &regions->now.list[i], most, address, pages)) {
				regions->cursor = *address;
				return true;
			}
		}
		regions->cursor = 0;
	}
	return false;
}

/* The part of a region from this address on; the region keeps what is before it. */
static struct region split(struct region *region, uint64_t address)
{
	uint64_t before = (address - region->start) / PAGE_SIZE;
	struct region tail = *region;

	region->pages = before;
	tail.start += before * PAGE_SIZE;
	tail.pages -= before;
	if (has_content(&tail)) {
		tail.source += before * PAGE_SIZE;
		tail.bit += before;
	}
	return tail;
}

static void split_at(struct region_list *list, uint64_t address)
{
	size_t index = first_behind(list, address);

	if (index < list->count && list->list[index].start < address)
		insert_at(list, index + 1, split(&list->list[index], address));
}

/* No page of this region is needed any more: its bits count as installed. */
static void give_up(struct regions *regions, const struct region *region)
{
	for (uint64_t i = 0; has_content(region) && i < region->pages; i++)
		regions_set_installed(regions, region->bit + i);
}

/* Moves the regions in [start, end) from the list to the end of another, cut at the borders. */
static void cut_out(struct region_list *list, uint64_t start, uint64_t end, struct region_list *to)
{
	size_t first, last;

	split_at(list, start);
	split_at(list, end);
	first = first_behind(list, start);
	for (last = first; last < list->count && list->list[last].start < end; last++)
		insert_at(to, to->count, list->list[last]);
	erase(list, first, last);
}

/* The same for the shadow, which is short and in no order. */
static void cut_shadow(struct regions *regions, uint64_t start, uint64_t end, struct region_list *to)
{
	struct region_list kept = { 0 };

	for (size_t i = 0; i < regions->shadow.count; i++) {
		struct region region = regions->shadow.list[i];

		if (region.start < start && region_end(&region) > start) {
			struct region tail = split(&region, start);

			insert_at(&kept, kept.count, region);
			region = tail;
		}
		if (region.start < end && region_end(&region) > end)
			insert_at(&kept, kept.count, split(&region, end));
		if (region.start >= start && region_end(&region) <= end)
			insert_at(to, to->count, region);
		else
			insert_at(&kept, kept.count, region);
	}
	free(regions->shadow.list);
	regions->shadow = kept;
}

static int by_start(const void *a, const void *b)
{
	uint64_t one = ((const struct region *)a)->start, other = ((const struct region *)b)->start;

	return one < other ? -1 : one > other;
}

/* The regions that an event about [start, end) is about: those in the shadow where there is one, else the present ones. */
static struct region_list take_range(struct regions *regions, uint64_t start, uint64_t end)
{
	struct region_list taken = { 0 };
	size_t shadows;
	uint64_t at = start;

	if (regions->shadow.count)
		cut_shadow(regions, start, end, &taken);
	shadows = taken.count;
	if (shadows)
		qsort(taken.list, shadows, sizeof(*taken.list), by_start);
	for (size_t i = 0; i <= shadows; i++) {
		uint64_t to = i < shadows ? taken.list[i].start : end, next = i < shadows ? region_end(&taken.list[i]) : end;

		if (at < to)
			cut_out(&regions->now, at, to, &taken);
		if (next > at)
			at = next;
	}
	return taken;
}

void regions_remove(struct regions *regions, uint64_t start, uint64_t end)
{
	struct region_list taken = { 0 };

	cut_out(&regions->now, start, end, &taken);
	for (size_t i = 0; i < taken.count; i++) {
		struct region zeros = taken.list[i];
		size_t index = first_behind(&regions->now, zeros.start);
		struct region *before = index ? &regions->now.list[index - 1] : NULL;

		give_up(regions, &zeros);
		zeros.source = SOURCE_ZEROS;
		if (before && !has_content(before) && region_end(before) == zeros.start)
			before->pages += zeros.pages;
		else
			insert_at(&regions->now, index, zeros);
	}
	free(taken.list);
}

/* Whether this is the event that follows a move; mremap(2) sends it for just the range that it has moved. */
static bool follows_move(struct regions *regions, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < regions->moved_away.count; i++) {
		const struct region *source = &regions->moved_away.list[i];

		if (source->start == start && region_end(source) == end) {
			erase(&regions->moved_away, i, i + 1);
			return true;
		}
	}
	return false;
}

void regions_unmap(struct regions *regions, uint64_t start, uint64_t end)
{
	struct region_list taken = { 0 };

	if (!follows_move(regions, start, end))
		taken = take_range(regions, start, end);
	for (size_t i = 0; i < taken.count; i++)
		give_up(regions, &taken.list[i]);
	free(taken.list);
}

void regions_move(struct regions *regions, uint64_t from, uint64_t to, uint64_t size)
{
	struct region_list taken = take_range(regions, from, from + size);

	/* With MREMAP_DONTUNMAP no unmap event follows, and the entry is left until all is settled. */
	insert_at(&regions->moved_away, regions->moved_away.count, (struct region){ .start = from, .pages = size / PAGE_SIZE });
	cut_out(&regions->now, to, to + size, &regions->shadow);
	if (taken.count)
		qsort(taken.list, taken.count, sizeof(*taken.list), by_start);
	for (size_t i = 0; i < taken.count; i++)
		taken.list[i].start += to - from;
	insert_all(&regions->now, first_behind(&regions->now, to), &taken);
	free(taken.list);
}

bool regions_expecting(const struct regions *regions)
{
	return regions->shadow.count || regions->moved_away.count;
}

void regions_settle(struct regions *regions)
{
	for (size_t i = 0; i < regions->shadow.count; i++)
		give_up(regions, &regions->shadow.list[i]);
	regions->shadow.count = 0;
	regions->moved_away.count = 0;
}
