// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * layout.c of the kernel module on a memory of its own: what it writes of random lists of owners, check.c must believe, once the frames
 * of its runs are reserved, and no page that it was given may be lost. find.c must find where each task begins.
 */
#include <stdio.h>

#include "../../check.h"
#include "append.h"
#include "session.h"

#define NONCE 0x1234567890abcdefull
#define TABLES 300

struct page frames[FRAMES];
char *memory;

static uint32_t random_below(uint32_t bound)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % bound;
}

/* Of each frame: given out by kup_alloc(), and of what is recorded. */
static bool is_allocated[FRAMES], is_recorded[FRAMES];

static bool is_free(u64 frame, u64 number)
{
	for (u64 i = frame; i < frame + number; i++)
		if (i >= FRAMES || is_allocated[i] || is_recorded[i])
			return false;
	return true;
}

struct page *kup_alloc(struct kup_session *session, unsigned int order)
{
	u64 number = 1ull << order;

	(void)session;
	for (u64 tries = 0; tries < 200; tries++) {
		u64 frame = KUP_LOWEST + random_below((FRAMES - KUP_LOWEST) / number) * number;

		if (!is_free(frame, number))
			continue;
		for (u64 i = frame; i < frame + number; i++)
			is_allocated[i] = true;
		memset(kup_frame(frame), 0, number * PAGE_SIZE);
		return pfn_to_page(frame);
	}
	return NULL;
}

void kup_free_rejected(struct kup_session *session)
{
	(void)session;
}

void free_one_page(struct page *page)
{
	CHECK(is_allocated[page_to_pfn(page)]);
	is_allocated[page_to_pfn(page)] = false;
}

/* Areas of random frames; one in three has frames that another has as well. */
static void record(struct kup_session *session)
{
	u64 areas = 1 + random_below(40), page = 0;

	for (u64 i = 0; i < areas; i++) {
		u64 runs = 1 + random_below(40);

		append(session, i << 32 | runs);
		append(session, page);
		for (; runs; runs--) {
			u64 number = 1 + random_below(4), frame = KUP_LOWEST + random_below(FRAMES - KUP_LOWEST - 4);

			while (!is_free(frame, number) && random_below(3))
				frame = KUP_LOWEST + random_below(FRAMES - KUP_LOWEST - 4);
			/* Of the table's own pages, none. */
			for (u64 k = frame; k < frame + number; k++)
				if (is_allocated[k])
					number = k - frame;
			if (!number) {
				runs++;
				continue;
			}
			for (u64 k = frame; k < frame + number; k++)
				is_recorded[k] = true;
			append(session, kup_run(frame, number) | (random_below(2) ? KUP_OWNER_DOWN : 0));
			session->pages += number;
			page += number;
		}
	}
}

/* As a walk from the beginning finds them. Task numbers are those of the areas; there are none behind the last. */
static void check_places(struct kup_session *session)
{
	struct kup_reader reader = kup_reader(session->table);
	struct kup_place place;
	u32 task = 0;

	for (; reader.left; task++) {
		u64 head = kup_read(&reader), page = kup_read(&reader);

		CHECK(!kup_begin_task(session, task, &place));
		CHECK(head >> 32 == task && place.task == task && place.page == page && place.runs == (u32)head);
		CHECK(place.reader.words == reader.words && place.reader.at == reader.at && place.reader.left == reader.left);
		for (u32 runs = (u32)head; runs; runs--) {
			struct kup_reader before = reader;
			u64 frames = kup_run_frames(kup_owner_run(kup_read(&reader)));

			/* The run's last page stands before the run as well. */
			CHECK(!kup_find(session, task, page + frames - 1, &place));
			CHECK(place.page == page && place.runs == runs && place.reader.left == before.left);
			page += frames;
		}
		CHECK(kup_find(session, task, page, &place) == -ENXIO);
	}
	CHECK(kup_begin_task(session, task, &place) == -ENOENT);
}

/* Every frame of the runs, and those alone, is recorded or the table's. What was trimmed is among the runs, and given back. */
static void check_table(struct kup_session *session)
{
	struct kup_session next = { .address = session->table->address, .nonce = NONCE };
	u64 own = 1 + DIV_ROUND_UP(session->table->owner[KUP_OWNER_LENGTH], KUP_OWNER_WORDS), allocated = 0;
	const struct kup_table *table = session->table;
	const char *reason;

	for (u32 i = 0; i < table->extents; i++) {
		u64 *words = kup_frame(kup_run_first(table->extent[i]));
		u64 room = kup_run_frames(table->extent[i]) * KUP_RUNS_PER_PAGE;

		own += kup_run_frames(table->extent[i]);
		/* The rest of the last page is zero. */
		for (u64 k = 0; i + 1 == table->extents && k < room; k++)
			CHECK(!words[k] || !k || words[k - 1]);
	}
	for (u64 i = 0; i < FRAMES; i++) {
		allocated += is_allocated[i];
		frames[i] = (struct page){ .is_reserved = true, .count = 1 };
	}
	CHECK(allocated == own);
	session->table->state = KUP_TABLE_RESERVED ^ NONCE;
	reason = kup_check(&next);
	if (reason) {
		fprintf(stderr, "the table is refused: %s\n", reason);
		exit(1);
	}
	CHECK(next.pages == session->pages);
	check_places(&next);
	free(next.places);
	free(next.lists);
	free(next.own);
}

/* A list without anything recorded, and one that would need more runs than there is memory for. */
static void check_refusals(void)
{
	struct kup_session session = { .table = page_address(kup_alloc(NULL, 0)) };

	CHECK(kup_layout(&session) == -ENODATA);
	session.pages = 1;
	session.table->owner[KUP_OWNER_LENGTH] = 1ull << 40;
	CHECK(kup_layout(&session) == -E2BIG);
}

int main(void)
{
	memory = aligned_alloc(PAGE_SIZE, FRAMES * PAGE_SIZE);
	CHECK(memory);
	/* What lies in a page before it is written. */
	for (unsigned int i = 0; i < TABLES; i++) {
		struct kup_session session = { .state = KUP_PPP_RECORDING };
		u64 frame;

		memset(memory, 0xa5, FRAMES * PAGE_SIZE);
		memset(is_allocated, 0, sizeof(is_allocated));
		memset(is_recorded, 0, sizeof(is_recorded));
		frame = page_to_pfn(kup_alloc(&session, 0));
		session.table = kup_frame(frame);
		session.table->address = frame << PAGE_SHIFT;
		session.table->nonce = NONCE;
		record(&session);
		CHECK(!kup_layout(&session) && session.state == KUP_PPP_LAID_OUT);
		check_table(&session);
	}
	check_refusals();
	fprintf(stderr, "%u tables believed\n", TABLES);
	return 0;
}
