// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * check.c of the kernel module on a memory of its own, under the sanitizers.
 *
 * Frames that are not reserved are poisoned: reading one ends the test. A right table must be believed; a damaged one, with its
 * digests made right again, must be refused, or everything that BIND and RELEASE will do with it must stay within the table.
 * Without arguments: each check's own damage, which must be refused for its reason, then random tables and damages. Built with -DFUZZ it
 * is a libFuzzer target.
 */
#include <sanitizer/asan_interface.h>
#include <stdio.h>

#include "../../check.h"
#include "session.h"

#define NONCE 0x1234567890abcdefull
#define TABLES 3000

struct page frames[FRAMES];
char *memory;

static uint64_t state = 88172645463325252ull;

static uint32_t random_below(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % bound;
}

static void poison(bool is_on)
{
	for (u64 i = 0; i < FRAMES; i++)
		if (is_on && !frames[i].is_reserved)
			ASAN_POISON_MEMORY_REGION(memory + i * PAGE_SIZE, PAGE_SIZE);
		else
			ASAN_UNPOISON_MEMORY_REGION(memory + i * PAGE_SIZE, PAGE_SIZE);
}

/* ---- a right table ---- */

/* Frames of the table, in the order in which they are given out; each is one that nobody else has. */
static u64 kept[FRAMES], number_kept;
static struct kup_table *table;
static u64 *owners; /* the page that is written */
static unsigned int used;
/* Header, first page of the runs, first page of the owners: what is damaged. */
static u64 *places[3];
/* A frame that write_runs() leaves out. */
static u64 left_out;

static u64 take(void)
{
	return kept[--number_kept];
}

static void reserve_some(void)
{
	memset(frames, 0, sizeof(frames));
	number_kept = 0;
	for (u64 i = KUP_LOWEST; i < FRAMES; i++) {
		frames[i].is_reserved = random_below(3) || i % 1024 < 100;
		frames[i].count = 1;
		/* Reserved for the kernel itself. */
		if (frames[i].is_reserved && i % 1024 >= 50)
			kept[number_kept++] = i;
	}
	for (u64 i = number_kept - 1; i; i--) {
		u64 other = random_below(i + 1), frame = kept[i];

		kept[i] = kept[other];
		kept[other] = frame;
	}
}

static void append(u64 word)
{
	if (!owners || used == KUP_OWNER_WORDS) {
		u64 frame = take();

		memset(kup_frame(frame), 0, PAGE_SIZE);
		if (owners)
			owners[0] = frame;
		else
			table->owner[KUP_OWNER_FIRST] = frame;
		owners = kup_frame(frame);
		used = 0;
	}
	owners[++used] = word;
	table->owner[KUP_OWNER_LENGTH]++;
}

static void write_owners(void)
{
	u64 areas = 1 + random_below(20), task = 0, page = 1;

	for (u64 i = 0; i < areas; i++) {
		u64 runs = 1 + random_below(60);

		if (!random_below(3)) {
			task++;
			page = 1;
		}
		page += random_below(5);
		append(task << 32 | runs);
		append(page);
		for (; runs; runs--) {
			append(kup_run(take(), 1) | (random_below(2) ? KUP_OWNER_DOWN : 0));
			page++;
			table->owner[KUP_OWNER_PAGES]++;
		}
	}
}

static void digest(void)
{
	u64 pages = DIV_ROUND_UP(table->owner[KUP_OWNER_LENGTH], KUP_OWNER_WORDS), frame = table->owner[KUP_OWNER_FIRST];
	struct xxh64_state hash;

	xxh64_reset(&hash, 0);
	for (; pages && pages < FRAMES && frame < FRAMES; pages--, frame = *(u64 *)kup_frame(frame))
		xxh64_update(&hash, kup_frame(frame), PAGE_SIZE);
	table->owner[KUP_OWNER_DIGEST] = xxh64_digest(&hash);
	xxh64_reset(&hash, 0);
	xxh64_update(&hash, &table->version, PAGE_SIZE - offsetof(struct kup_table, version));
	for (u32 i = 0; i < table->extents && i < KUP_TABLE_EXTENTS; i++)
		if (kup_run_end(table->extent[i]) <= FRAMES)
			xxh64_update(&hash, kup_frame(kup_run_first(table->extent[i])),
				     kup_run_frames(table->extent[i]) * PAGE_SIZE);
	table->digest = xxh64_digest(&hash);
}

/* All kept frames as runs, sorted, in pages of their own. */
static void write_runs(void)
{
	static u64 runs[FRAMES];
	static bool is_kept[FRAMES];
	u64 number = 0, pages;

	memset(is_kept, 0, sizeof(is_kept));
	for (u64 i = KUP_LOWEST; i < FRAMES; i++)
		is_kept[i] = frames[i].is_reserved && i % 1024 >= 50 && i != left_out;
	for (u64 i = 0; i < FRAMES; i++) {
		if (!is_kept[i])
			continue;
		table->frames++;
		if (number && kup_run_end(runs[number - 1]) == i)
			runs[number - 1]++;
		else
			runs[number++] = kup_run(i, 1);
	}
	table->runs = number;
	pages = DIV_ROUND_UP(number, KUP_RUNS_PER_PAGE);
	for (u64 i = 0; i < pages; i++) {
		u64 frame = take(), some = number - i * KUP_RUNS_PER_PAGE;

		table->extent[table->extents++] = kup_run(frame, 1);
		memset(kup_frame(frame), 0, PAGE_SIZE);
		memcpy(kup_frame(frame), runs + i * KUP_RUNS_PER_PAGE, (some < KUP_RUNS_PER_PAGE ? some : KUP_RUNS_PER_PAGE) * 8);
	}
}

static void make_table(void)
{
	u64 frame;

	poison(false);
	reserve_some();
	frame = take();
	table = kup_frame(frame);
	memset(table, 0, sizeof(*table));
	owners = NULL;
	table->magic = KUP_TABLE_MAGIC;
	table->version = KUP_TABLE_VERSION;
	table->nonce = NONCE;
	table->address = frame << PAGE_SHIFT;
	table->state = KUP_TABLE_RESERVED ^ NONCE;
	write_owners();
	write_runs();
	digest();
	places[0] = (u64 *)table;
	places[1] = kup_frame(kup_run_first(table->extent[0]));
	places[2] = kup_frame(table->owner[KUP_OWNER_FIRST]);
}

/* ---- what the module would do with it ---- */

static bool is_within(const struct kup_session *session, u64 frame)
{
	for (u64 i = 0; i < session->table->runs; i++) {
		u64 run = kup_run_at(session, i);

		if (frame >= kup_run_first(run) && frame < kup_run_end(run))
			return frame >= KUP_LOWEST && frames[frame].is_reserved && frames[frame].count == 1;
	}
	return false;
}

/* Reads everything that BIND and RELEASE read. */
static void check_believed(const struct kup_session *session)
{
	struct kup_reader reader = kup_reader(session->table);
	u64 pages = 0, total = 0, behind = 0;

	while (reader.left) {
		u64 head = kup_read(&reader), page = kup_read(&reader);

		for (u32 runs = head; runs; runs--) {
			u64 run = kup_read(&reader), number = kup_run_frames(kup_owner_run(run));

			for (u64 i = 0; i < number; i++, page++, pages++) {
				u64 frame = kup_owner_frame(run, i);

				CHECK(page < TASK_SIZE_MAX >> PAGE_SHIFT);
				CHECK(is_within(session, frame) && !kup_is_own(session, kup_run(frame, 1)));
			}
		}
	}
	CHECK(pages == session->pages);
	for (u64 i = 0; i < session->table->runs; i++) {
		u64 run = kup_run_at(session, i);

		/* Given back once each. */
		CHECK(kup_run_first(run) >= behind);
		behind = kup_run_end(run);
		total += kup_run_frames(run);
	}
	CHECK(total == session->table->frames);
	behind = 0;
	for (unsigned int i = 0; i < session->owns; i++) {
		CHECK(is_within(session, kup_run_first(session->own[i])) && kup_run_first(session->own[i]) >= behind);
		behind = kup_run_end(session->own[i]);
	}
}

/* Why the table is refused, or NULL. */
static const char *refusal(u64 address)
{
	struct kup_session session = { .address = address, .nonce = NONCE };
	const char *reason;

	poison(true);
	reason = kup_check(&session);
	if (!reason)
		check_believed(&session);
	poison(false);
	free(session.lists);
	free(session.own);
	return reason;
}

/* Returns whether the table was believed. */
static bool try_table(u64 address)
{
	return !refusal(address);
}

/* ---- damage ---- */

/* A word of the header, of the runs or of the owners; mostly of those that mean something. */
static u64 *some_word(uint32_t which)
{
	uint32_t word = which / 4;

	return which % 4 == 3 ? places[0] + word % (128 / 8 + 4) : places[which % 4] + word % (word & 1 ? 512 : 24);
}

static void change(u64 *word, uint32_t how, u64 value)
{
	u64 own = ((char *)places[value % 3] - memory) / PAGE_SIZE, other;

	switch (how % 8) {
	case 0:
		*word ^= 1ull << value % 64;
		break;
	case 1:
		*word += value % 5 - 2;
		break;
	case 2:
		*word = value;
		break;
	case 3: /* a run anywhere in the machine */
		*word = kup_run(value % (FRAMES + 3), 1 + value % 3);
		break;
	case 4: /* a frame */
		*word = value % (FRAMES + 3);
		break;
	case 5:
		*word = ~(value % 600);
		break;
	case 6: /* of the table itself */
		*word = value & 4 ? own : kup_run(own, 1);
		break;
	default: /* in another order; the page's last word with its first */
		word = (u64)word % PAGE_SIZE == PAGE_SIZE - 8 ? word - 511 : word;
		other = word[1];
		word[1] = word[0];
		word[0] = other;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Each eleven bytes: which word of a right table, how, and a value. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	u64 address;

	if (!memory)
		memory = aligned_alloc(PAGE_SIZE, FRAMES * PAGE_SIZE);
	state = 88172645463325252ull;
	make_table();
	address = table->address;
	for (; size >= 11; bytes += 11, size -= 11) {
		u64 value;

		memcpy(&value, bytes + 3, sizeof(value));
		change(some_word(bytes[0] | bytes[1] << 8), bytes[2], value);
	}
	digest();
	try_table(address);
	return 0;
}

#ifndef FUZZ
/* ---- each check's own damage ---- */

static u64 unkept_frame(void)
{
	u64 frame = KUP_LOWEST;

	while (frames[frame].is_reserved)
		frame++;
	return frame;
}

/* A kept frame that nothing else has; its content is zero. */
static u64 spare_frame(void)
{
	u64 frame = take();

	memset(kup_frame(frame), 0, PAGE_SIZE);
	return frame;
}

static void damage_magic(void)
{
	table->magic ^= 1;
}
static void damage_version(void)
{
	table->version++;
}
static void damage_nonce(void)
{
	table->nonce ^= 1;
}
static void damage_address(void)
{
	table->address += PAGE_SIZE;
}
static void damage_zero(void)
{
	table->zero = 1;
}
static void damage_state(void)
{
	table->state = 0;
}
static void damage_state_of_another(void)
{
	table->state ^= 1;
}
static void damage_no_runs(void)
{
	table->runs = 0;
}
static void damage_many_runs(void)
{
	table->runs = KUP_TABLE_RUNS + 1;
}
static void damage_no_extents(void)
{
	table->extents = 0;
}
static void damage_many_extents(void)
{
	table->extents = KUP_TABLE_EXTENTS + 1;
}
static void damage_extent(void)
{
	table->extent[0] = kup_run(unkept_frame(), 1);
}
static void damage_extents_number(void)
{
	table->runs += KUP_RUNS_PER_PAGE;
}

static void damage_order(void)
{
	u64 first = places[1][0];

	places[1][0] = places[1][1];
	places[1][1] = first;
}

static void damage_run_twice(void)
{
	places[1][1] = places[1][0];
}
static void damage_run(void)
{
	frames[spare_frame()].is_reserved = false;
}
static void damage_run_in_use(void)
{
	frames[spare_frame()].count = 2;
}

static void damage_low_run(void)
{
	frames[KUP_LOWEST - 1] = (struct page){ .is_reserved = true, .count = 1 };
	places[1][0] = kup_run(KUP_LOWEST - 1, 1);
}

static void damage_frames(void)
{
	table->frames++;
}
static void damage_no_owners(void)
{
	table->owner[KUP_OWNER_LENGTH] = 0;
}
static void damage_many_owners(void)
{
	table->owner[KUP_OWNER_LENGTH] = table->frames * KUP_OWNER_WORDS + 1;
}
static void damage_owners_place(void)
{
	table->owner[KUP_OWNER_FIRST] = unkept_frame();
}
static void damage_owners_end(void)
{
	owners[0] = spare_frame();
}
static void damage_task(void)
{
	places[2][1] += 100ull << 32;
}
static void damage_area_order(void)
{
	places[2][2] += 1 << 20;
	places[2][1] += 100ull << 32;
}
static void damage_area_runs(void)
{
	places[2][1] &= ~0xffffffffull;
}
static void damage_area_length(void)
{
	places[2][1] |= 0x7fffffff;
}
static void damage_area_end(void)
{
	places[2][2] = (TASK_SIZE_MAX >> PAGE_SHIFT) + 5;
}
static void damage_owner(void)
{
	places[2][3] = kup_run(unkept_frame(), 1);
}
static void damage_owner_frames(void)
{
	places[2][3] = kup_run(kup_run_first(places[2][3]), 0);
}
static void damage_owner_of_table(void)
{
	places[2][3] = kup_run(table->address >> PAGE_SHIFT, 1);
}
static void damage_owner_of_extent(void)
{
	places[2][3] = table->extent[0];
}
static void damage_pages(void)
{
	table->owner[KUP_OWNER_PAGES]++;
}

static const struct damage {
	void (*damage)(void);
	const char *reason;
} damages[] = {
	{ damage_magic, "no table there" },
	{ damage_version, "unknown version" },
	{ damage_nonce, "table of another switch" },
	{ damage_address, "damaged header" },
	{ damage_zero, "damaged header" },
	{ damage_state, "this kernel has not reserved it" },
	{ damage_state_of_another, "this kernel has not reserved it" },
	{ damage_no_runs, "number of runs or extents out of bounds" },
	{ damage_many_runs, "number of runs or extents out of bounds" },
	{ damage_no_extents, "number of runs or extents out of bounds" },
	{ damage_many_extents, "number of runs or extents out of bounds" },
	{ damage_extent, "extent is not reserved memory" },
	{ damage_extents_number, "extents do not fit the number of runs" },
	{ damage_order, "runs are not sorted or overlap" },
	{ damage_run_twice, "runs are not sorted or overlap" },
	{ damage_run, "run is not reserved memory" },
	{ damage_run_in_use, "run is not reserved memory" },
	{ damage_low_run, "run is not reserved memory" },
	{ damage_frames, "number of frames is wrong" },
	{ damage_no_owners, "list of owners is out of bounds" },
	{ damage_many_owners, "list of owners is out of bounds" },
	{ damage_owners_place, "list of owners leaves the table" },
	{ damage_owners_end, "list of owners has no end" },
	{ damage_task, "areas do not ascend" },
	{ damage_area_order, "areas do not ascend" },
	{ damage_area_runs, "list of owners is cut off" },
	{ damage_area_length, "list of owners is cut off" },
	{ damage_area_end, "an area is out of bounds" },
	{ damage_owner, "an owner's frame is not in the table" },
	{ damage_owner_frames, "an owner's frame is not in the table" },
	{ damage_owner_of_table, "an owner's frame is the table's" },
	{ damage_owner_of_extent, "an owner's frame is the table's" },
	{ damage_pages, "number of pages is wrong" },
};

static void expect(u64 address, const char *wanted, size_t number)
{
	const char *reason = refusal(address);

	if (reason && !strcmp(reason, wanted))
		return;
	fprintf(stderr, "damage %zu: the table is refused because of '%s', expected '%s'\n", number, reason ?: "nothing", wanted);
	exit(1);
}

/* Several areas, and several runs, or there is nothing to put in another order. */
static void make_large_table(void)
{
	do
		make_table();
	while (table->runs < 2 || table->owner[KUP_OWNER_LENGTH] < 200);
}

/* The same table, but without this frame among the runs. */
static void leave_out(u64 frame)
{
	number_kept += table->extents;
	table->frames = table->extents = 0;
	left_out = frame;
	write_runs();
	left_out = 0;
	digest();
}

static void try_each_damage(void)
{
	u64 address;

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		make_large_table();
		address = table->address;
		damages[i].damage();
		digest();
		expect(address, damages[i].reason, i);
	}
	make_large_table();
	places[1][KUP_RUNS_PER_PAGE - 1] ^= 1;
	expect(table->address, "wrong digest", 100);
	make_large_table();
	table->owner[6] ^= 1;
	expect(table->address, "wrong digest", 101);
	make_large_table();
	owners[KUP_OWNER_WORDS] ^= 1;
	expect(table->address, "wrong digest of the list of owners", 102);
	/* The header's page is not among the runs. */
	make_large_table();
	address = table->address;
	leave_out(address >> PAGE_SHIFT);
	expect(address, "table does not reserve itself", 103);
}

int main(void)
{
	unsigned int refused = 0, believed = 0;

	memory = aligned_alloc(PAGE_SIZE, FRAMES * PAGE_SIZE);
	CHECK(memory);
	try_each_damage();
	for (unsigned int i = 0; i < TABLES; i++) {
		u64 address;

		make_table();
		address = table->address;
		CHECK(try_table(address));
		CHECK(!try_table(address + PAGE_SIZE / 2) && !try_table((u64)random_below(FRAMES) << 40));
		for (uint32_t damages = 1 + random_below(3); damages; damages--)
			change(some_word(random_below(1 << 16)), random_below(8), (u64)random_below(~0u) << 32 | random_below(~0u));
		if (random_below(10))
			digest();
		if (try_table(address))
			believed++;
		else
			refused++;
	}
	CHECK(refused > TABLES / 2);
	fprintf(stderr, "%u damaged tables refused, %u harmless\n", refused, believed);
	return 0;
}
#endif
