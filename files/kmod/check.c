// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * New kernel: believing a table.
 *
 * It is memory that another kernel has left. Nothing is read outside of frames that this kernel has reserved, and nothing is
 * changed but the session. tests/kmod/check/ runs this file on a memory of its own.
 */
#include <linux/bitmap.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/xxhash.h>

#include "session.h"

/*
 * Memory that is reserved, without other references. If the table's state says so, the stub has reserved it; but a table of an
 * earlier boot may say so as well, and its frames are in use by now.
 */
static bool is_reserved_page(struct page *page)
{
	return PageReserved(page) && page_count(page) == 1;
}

/* Frames that are known to be memory, all of them. */
struct span {
	u64 first, end;
};

static const struct span none;

static bool is_memory(u64 first, u64 end)
{
	return first < end && end <= 1ull << (MAX_PHYSMEM_BITS - PAGE_SHIFT) &&
	       region_intersects(first << PAGE_SHIFT, (end - first) << PAGE_SHIFT, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) ==
		       REGION_INTERSECTS;
}

static bool is_reserved_run(u64 run, const struct span *known)
{
	u64 first = kup_run_first(run), frames = kup_run_frames(run), frame, end;

	if (!frames || first < KUP_LOWEST ||
	    !((first >= known->first && kup_run_end(run) <= known->end) || is_memory(first, kup_run_end(run))))
		return false;
	/* Of a subsection, all frames have a struct page or none. This loop is part of the outage: it sees each recorded frame. */
	for (frame = first; frame < first + frames;) {
		struct page *page;

		if (!pfn_valid(frame))
			return false;
		end = min_t(u64, ALIGN(frame + 1, PAGES_PER_SUBSECTION), first + frames);
		for (page = pfn_to_page(frame); frame < end; frame++, page++)
			if (!is_reserved_page(page))
				return false;
		cond_resched();
	}
	return true;
}

static const char *check_header(struct kup_session *session)
{
	const struct kup_table *table = session->table;
	u64 pages = 0;
	u32 i;

	if (table->magic != KUP_TABLE_MAGIC)
		return "no table there";
	if (table->version != KUP_TABLE_VERSION)
		return "unknown version";
	if (table->nonce != session->nonce)
		return "table of another switch";
	if (table->address != session->address || table->zero)
		return "damaged header";
	if (table->state != (KUP_TABLE_RESERVED ^ session->nonce))
		return "this kernel has not reserved it";
	if (!table->runs || table->runs > KUP_TABLE_RUNS || !table->extents || table->extents > KUP_TABLE_EXTENTS)
		return "number of runs or extents out of bounds";
	for (i = 0; i < table->extents; i++) {
		if (!is_reserved_run(table->extent[i], &none))
			return "extent is not reserved memory";
		pages += kup_run_frames(table->extent[i]);
	}
	return pages == DIV_ROUND_UP(table->runs, KUP_RUNS_PER_PAGE) ? NULL : "extents do not fit the number of runs";
}

static const char *check_digest(const struct kup_table *table)
{
	struct xxh64_state hash;
	u32 i;

	xxh64_reset(&hash, 0);
	xxh64_update(&hash, &table->version, PAGE_SIZE - offsetof(struct kup_table, version));
	for (i = 0; i < table->extents; i++)
		xxh64_update(&hash, kup_frame(kup_run_first(table->extent[i])), kup_run_frames(table->extent[i]) << PAGE_SHIFT);
	return xxh64_digest(&hash) == table->digest ? NULL : "wrong digest";
}

static const char *check_runs(struct kup_session *session)
{
	const struct kup_table *table = session->table;
	u64 i, k, page = 0, behind = 0, frames = 0;
	struct span known = none;

	session->lists = kvmalloc_array(DIV_ROUND_UP(table->runs, KUP_RUNS_PER_PAGE), sizeof(*session->lists), GFP_KERNEL);
	if (!session->lists)
		return "no memory";
	for (i = 0; i < table->extents; i++)
		for (k = 0; k < kup_run_frames(table->extent[i]); k++)
			session->lists[page++] = kup_frame(kup_run_first(table->extent[i]) + k);
	for (i = 0; i < table->runs; i++) {
		u64 run = kup_run_at(session, i);

		/* The kernel's list of resources is long: it is asked once for many runs, if these are sorted and nothing is between them. */
		if (!(i % KUP_RUNS_PER_PAGE)) {
			known.first = kup_run_first(run);
			known.end = kup_run_end(kup_run_at(session, min_t(u64, i + KUP_RUNS_PER_PAGE, table->runs) - 1));
			if (!is_memory(known.first, known.end))
				known = none;
		}
		if (kup_run_first(run) < behind)
			return "runs are not sorted or overlap";
		if (!is_reserved_run(run, &known))
			return "run is not reserved memory";
		behind = kup_run_end(run);
		frames += kup_run_frames(run);
	}
	if (frames != table->frames)
		return "number of frames is wrong";
	session->first_frame = kup_run_first(kup_run_at(session, 0));
	session->frame_span = behind - session->first_frame;
	return NULL;
}

/* A bit for each frame of the table: the owners' runs are looked up in the outage, and there may be millions. */
static const char *note_kept(struct kup_session *session)
{
	u64 i;

	session->kept = kvcalloc(BITS_TO_LONGS(session->frame_span), sizeof(*session->kept), GFP_KERNEL);
	if (!session->kept)
		return "no memory";
	for (i = 0; i < session->table->runs; i++) {
		u64 run = kup_run_at(session, i), first = kup_run_first(run) - session->first_frame;

		/* The numbers of bitmap_set() have 32 bits. */
		bitmap_set(session->kept + BIT_WORD(first), first % BITS_PER_LONG, kup_run_frames(run));
	}
	return NULL;
}

/* Whether all frames of `run` are in the table. */
static bool is_kept(const struct kup_session *session, u64 run)
{
	u64 first = kup_run_first(run), end = kup_run_end(run) - session->first_frame;

	return first >= session->first_frame && end <= session->frame_span &&
	       find_next_zero_bit(session->kept, end, first - session->first_frame) >= end;
}

bool kup_is_own(const struct kup_session *session, u64 run)
{
	unsigned int low = 0, high = session->owns;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (kup_run_end(session->own[middle]) <= kup_run_first(run))
			low = middle + 1;
		else
			high = middle;
	}
	return low < session->owns && kup_run_first(session->own[low]) < kup_run_end(run);
}

/* Also the digest of the list of owners, whose pages must be known before anything is read by them. */
static const char *check_own(struct kup_session *session)
{
	const struct kup_table *table = session->table;
	u64 length = table->owner[KUP_OWNER_LENGTH], frame = table->owner[KUP_OWNER_FIRST], pages, i;
	struct xxh64_state hash;

	if (!length || length > table->frames * KUP_OWNER_WORDS)
		return "list of owners is out of bounds";
	pages = DIV_ROUND_UP(length, KUP_OWNER_WORDS);
	session->own = kvmalloc_array(1 + table->extents + pages, sizeof(*session->own), GFP_KERNEL);
	if (!session->own)
		return "no memory";
	session->own[session->owns++] = kup_run(session->address >> PAGE_SHIFT, 1);
	for (i = 0; i < table->extents; i++)
		session->own[session->owns++] = table->extent[i];
	xxh64_reset(&hash, 0);
	for (i = 0; i < pages; i++) {
		if (frame >> 40 || !is_kept(session, kup_run(frame, 1)))
			return "list of owners leaves the table";
		session->own[session->owns++] = kup_run(frame, 1);
		xxh64_update(&hash, kup_frame(frame), PAGE_SIZE);
		frame = *(u64 *)kup_frame(frame);
	}
	if (frame)
		return "list of owners has no end";
	if (xxh64_digest(&hash) != table->owner[KUP_OWNER_DIGEST])
		return "wrong digest of the list of owners";
	sort(session->own, session->owns, sizeof(*session->own), kup_compare, NULL);
	for (i = 0; i < session->owns; i++) {
		if (!is_kept(session, session->own[i]))
			return "table does not reserve itself";
		if (i && kup_run_end(session->own[i - 1]) > kup_run_first(session->own[i]))
			return "table's own pages overlap";
	}
	return NULL;
}

static const char *check_owners(struct kup_session *session)
{
	struct kup_reader reader = kup_reader(session->table);
	u64 task = 0, behind = 0;

	while (reader.left) {
		u64 head = kup_read(&reader), page, runs = (u32)head;

		if (!runs || runs >= reader.left)
			return "list of owners is cut off";
		page = kup_read(&reader);
		if (head >> 32 < task || (head >> 32 == task && page < behind))
			return "areas do not ascend";
		task = head >> 32;
		behind = page;
		for (; runs; runs--) {
			u64 run = kup_owner_run(kup_read(&reader)), frames = kup_run_frames(run);

			if (behind >= TASK_SIZE_MAX >> PAGE_SHIFT || frames > (TASK_SIZE_MAX >> PAGE_SHIFT) - behind)
				return "an area is out of bounds";
			if (!frames || !is_kept(session, run))
				return "an owner's frame is not in the table";
			if (kup_is_own(session, run))
				return "an owner's frame is the table's";
			behind += frames;
			session->pages += frames;
		}
		cond_resched();
	}
	return session->pages == session->table->owner[KUP_OWNER_PAGES] ? NULL : "number of pages is wrong";
}

const char *kup_check(struct kup_session *session)
{
	u64 frame = session->address >> PAGE_SHIFT;
	const char *reason;

	if (!PAGE_ALIGNED(session->address) || session->address >> MAX_PHYSMEM_BITS || !is_reserved_run(kup_run(frame, 1), &none))
		return "address is not reserved memory";
	session->table = kup_frame(frame);
	reason = check_header(session);
	if (!reason)
		reason = check_digest(session->table);
	if (!reason)
		reason = check_runs(session);
	if (!reason)
		reason = note_kept(session);
	if (!reason)
		reason = check_own(session);
	if (!reason)
		reason = check_owners(session);
	kvfree(session->kept);
	session->kept = NULL;
	return reason;
}
