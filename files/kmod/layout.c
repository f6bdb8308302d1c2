// SPDX-License-Identifier: GPL-2.0-or-later
/* Old kernel: the table that the new one reads. */
#include <linux/sort.h>
#include <linux/xxhash.h>

#include "session.h"

/* Bits of a frame's number that one pass of radix_sort() looks at. */
#define DIGIT 11
/* sort() has no memory to ask for, and is as fast for fewer. */
#ifndef RADIX_FROM
#define RADIX_FROM 4096
#endif

/* The same as sort(), by the frames' numbers, in a time that grows with `number` alone. Applications stand still meanwhile. */
static void radix_sort(u64 *runs, u64 number, u64 *other, u32 *counts)
{
	u64 highest = 0, i, *from = runs, *to = other;
	unsigned int shift;

	for (i = 0; i < number; i++)
		highest |= kup_run_first(runs[i]);
	for (shift = 0; highest >> shift; shift += DIGIT) {
		u32 sum = 0, count;

		memset(counts, 0, sizeof(*counts) << DIGIT);
		for (i = 0; i < number; i++)
			counts[kup_run_first(from[i]) >> shift & ((1u << DIGIT) - 1)]++;
		for (i = 0; i < 1u << DIGIT; i++) {
			count = counts[i];
			counts[i] = sum;
			sum += count;
		}
		for (i = 0; i < number; i++)
			to[counts[kup_run_first(from[i]) >> shift & ((1u << DIGIT) - 1)]++] = from[i];
		swap(from, to);
		cond_resched();
	}
	if (from != runs)
		memcpy(runs, from, number * sizeof(*runs));
}

static void sort_runs(u64 *runs, u64 number)
{
	u64 *other = number < RADIX_FROM ? NULL : kvmalloc_array(number, sizeof(*other), GFP_KERNEL);
	u32 *counts = other ? kvmalloc_array(1u << DIGIT, sizeof(*counts), GFP_KERNEL) : NULL;

	if (counts)
		radix_sort(runs, number, other, counts);
	else
		sort(runs, number, sizeof(*runs), kup_compare, NULL);
	kvfree(counts);
	kvfree(other);
}

/* Sort, and join runs that touch or overlap: frames that several pages share come several times. Returns how many runs are left. */
static u64 join(u64 *runs, u64 number)
{
	u64 i, kept = 0;

	sort_runs(runs, number);
	for (i = 0; i < number; i++) {
		u64 first = kup_run_first(runs[i]), end = kup_run_end(runs[i]), space;

		if (kept && kup_run_end(runs[kept - 1]) >= first) {
			u64 *last = &runs[kept - 1];

			if (end <= kup_run_end(*last))
				continue;
			space = KUP_RUN_MAX - kup_run_frames(*last);
			first = kup_run_end(*last);
			*last += min(space, end - first);
			first += min(space, end - first);
		}
		if (first < end)
			runs[kept++] = kup_run(first, end - first);
	}
	return kept;
}

/* Add extents with room for `runs`, and for the runs that the extents themselves add. */
static int add_extents(struct kup_session *session, u64 runs)
{
	struct kup_table *table = session->table;
	u64 pages = 0;
	unsigned int order = MAX_ORDER_NR_PAGES > 1 ? ilog2(MAX_ORDER_NR_PAGES) : 0;

	/* Each extent is a run more at most. */
	while (pages * KUP_RUNS_PER_PAGE < runs + table->extents) {
		u64 missing = DIV_ROUND_UP(runs + table->extents + 1, KUP_RUNS_PER_PAGE) - pages;
		struct page *page;

		if (table->extents == KUP_TABLE_EXTENTS)
			return -E2BIG;
		while (order && 1ull << order > missing)
			order--;
		page = kup_alloc(session, order);
		if (!page && !order)
			return -ENOMEM;
		if (!page) {
			order--;
			continue;
		}
		table->extent[table->extents++] = kup_run(page_to_pfn(page), 1ull << order);
		pages += 1ull << order;
	}
	return 0;
}

/* The stub wants as many pages as the runs need, and not one more. */
static void trim_extents(struct kup_table *table, u64 needed)
{
	u32 i, extents = 0;

	for (i = 0; i < table->extents; i++) {
		u64 extent = table->extent[i], keep = min(needed, kup_run_frames(extent)), frame;

		for (frame = kup_run_first(extent) + keep; frame < kup_run_end(extent); frame++)
			__free_page(pfn_to_page(frame));
		table->extent[i] = keep ? kup_run(kup_run_first(extent), keep) : 0;
		extents += !!keep;
		needed -= keep;
	}
	table->extents = extents;
}

static u64 own_runs(const struct kup_table *table, u64 *runs)
{
	u64 number = 0, frame;
	u32 i;

	runs[number++] = kup_run(page_to_pfn(virt_to_page(table)), 1);
	for (i = 0; i < table->extents; i++)
		runs[number++] = table->extent[i];
	for (frame = table->owner[KUP_OWNER_FIRST]; frame; frame = *(u64 *)kup_frame(frame))
		runs[number++] = kup_run(frame, 1);
	return number;
}

static u64 recorded_runs(const struct kup_table *table, u64 *runs)
{
	struct kup_reader reader = kup_reader(table);
	u64 number = 0;

	while (reader.left) {
		u32 left = kup_read(&reader);

		for (kup_read(&reader); left; left--)
			runs[number++] = kup_owner_run(kup_read(&reader));
	}
	return number;
}

static u64 digest_owners(const struct kup_table *table)
{
	struct xxh64_state hash;
	u64 frame;

	xxh64_reset(&hash, 0);
	for (frame = table->owner[KUP_OWNER_FIRST]; frame; frame = *(u64 *)kup_frame(frame))
		xxh64_update(&hash, kup_frame(frame), PAGE_SIZE);
	return xxh64_digest(&hash);
}

static void write_runs(struct kup_table *table, const u64 *runs, u64 number)
{
	struct xxh64_state hash;
	u64 written = 0;
	u32 i;

	for (i = 0; i < table->extents; i++) {
		u64 room = kup_run_frames(table->extent[i]) * KUP_RUNS_PER_PAGE, some = min(room, number - written);
		u64 *into = kup_frame(kup_run_first(table->extent[i]));

		memcpy(into, runs + written, some * sizeof(*runs));
		memset(into + some, 0, (room - some) * sizeof(*runs));
		written += some;
	}
	xxh64_reset(&hash, 0);
	xxh64_update(&hash, &table->version, PAGE_SIZE - offsetof(struct kup_table, version));
	for (i = 0; i < table->extents; i++)
		xxh64_update(&hash, kup_frame(kup_run_first(table->extent[i])), kup_run_frames(table->extent[i]) << PAGE_SHIFT);
	table->digest = xxh64_digest(&hash);
}

int kup_layout(struct kup_session *session)
{
	struct kup_table *table = session->table;
	u64 length = table->owner[KUP_OWNER_LENGTH], number, i;
	/* Less than a word of the list for each run; each of its pages, the header and the extents are runs as well. */
	u64 bound = length + length / KUP_OWNER_WORDS + 2 + KUP_TABLE_EXTENTS, *runs;
	int error;

	if (!session->pages)
		return -ENODATA;
	if (bound > INT_MAX / sizeof(*runs))
		return -E2BIG;
	runs = kvmalloc_array(bound, sizeof(*runs), GFP_KERNEL);
	if (!runs)
		return -ENOMEM;
	number = recorded_runs(table, runs);
	number += own_runs(table, runs + number);
	number = join(runs, number);
	error = add_extents(session, number);
	if (error) {
		trim_extents(table, 0);
		kvfree(runs);
		return error;
	}
	/*
	 * Now with all extents among the runs. A superfluous page stays among the runs, but is freed here: the new kernel reserves it and
	 * releases it without reading it.
	 */
	number = recorded_runs(table, runs);
	number += own_runs(table, runs + number);
	number = join(runs, number);
	trim_extents(table, DIV_ROUND_UP(number, KUP_RUNS_PER_PAGE));
	table->magic = KUP_TABLE_MAGIC;
	table->version = KUP_TABLE_VERSION;
	table->runs = number;
	for (i = 0; i < number; i++)
		table->frames += kup_run_frames(runs[i]);
	table->owner[KUP_OWNER_PAGES] = session->pages;
	table->owner[KUP_OWNER_DIGEST] = digest_owners(table);
	write_runs(table, runs, number);
	kvfree(runs);
	kup_free_rejected(session);
	session->state = KUP_PPP_LAID_OUT;
	return 0;
}
