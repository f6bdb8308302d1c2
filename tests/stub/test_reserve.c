// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The reservation's code on a memory of its own, under the sanitizers.
 *
 * Without arguments: random machines and tables; what was merged is compared with a map of single frames, what was refused
 * must have changed nothing. Built with -DFUZZ it is a libFuzzer target: bytes are patched over a right table, whose
 * digest is then put right again, so that the checks behind it are reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../files/stub/reserve.h"
#include "../../files/stub/xxh64.h"
#include "../check.h"

#define FRAMES 16384u /* 64 MiB */
#define LOWEST 4096u  /* frames below 16 MiB are never used for the array */

enum { HOLE, FREE, RESERVED };

static char *memory;
static struct memblock_region memory_regions[128], reserved_regions[128];
static struct memblock memblock;
static unsigned char map[FRAMES], runs_map[FRAMES];
static uint64_t state = 88172645463325252ull;

static uint32_t random_below(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % bound;
}

static void add(struct memblock_type *type, uint64_t frame, uint64_t frames, int what)
{
	type->regions[type->cnt++] = (struct memblock_region){ .base = frame * PAGE, .size = frames * PAGE, .nid = 64 };
	type->total_size += frames * PAGE;
	memset(map + frame, what, frames);
}

/* Memory with holes, and some of it reserved. */
static void make_machine(void)
{
	uint32_t frame = 1;

	memset(map, HOLE, sizeof(map));
	memblock = (struct memblock){ .memory = { .max = 128, .regions = memory_regions },
				      .reserved = { .max = 128, .regions = reserved_regions } };
	while (frame < FRAMES - 600 && memblock.memory.cnt < 10) {
		uint32_t size = 400 + random_below(4000);

		size = size < FRAMES - frame ? size : FRAMES - frame;
		add(&memblock.memory, frame, size, FREE);
		frame += size + random_below(3) * 8; /* 0: neighbours that are not merged, as those of two nodes */
	}
	for (frame = 0; frame < FRAMES - 200 && memblock.reserved.cnt < 60;) {
		uint32_t size = 1 + random_below(64);

		add(&memblock.reserved, frame, size, RESERVED);
		frame += size + 100 + random_below(1000);
	}
}

static int is_free(uint32_t frame)
{
	return map[frame] == FREE;
}

/* Lay a right table into free frames below @behind; 0 if there are too few of them. */
static struct kup_table *make_table(uint32_t density, uint32_t behind)
{
	static uint64_t runs[FRAMES];
	uint32_t chosen[FRAMES], count = 0, picked = 0, own;
	struct kup_table *table;

	memset(runs_map, 0, sizeof(runs_map));
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		if (is_free(frame) && frame < behind && random_below(100) < density) {
			runs_map[frame] = 1;
			chosen[picked++] = frame;
		}
	for (uint32_t i = 0; i < picked; i++) {
		if (count && kup_run_first(runs[count - 1]) + kup_run_frames(runs[count - 1]) == chosen[i] && random_below(8))
			runs[count - 1]++;
		else
			runs[count++] = (uint64_t)chosen[i] << 24 | 1;
	}
	own = (count + 511) / 512;
	if (!count || picked < own + 1)
		return 0;
	table = (struct kup_table *)(memory + (size_t)chosen[picked / 2] * PAGE);
	memset(table, 0, PAGE);
	table->magic = KUP_TABLE_MAGIC;
	table->version = KUP_TABLE_VERSION;
	table->nonce = 0x1234;
	table->address = (uint64_t)chosen[picked / 2] * PAGE;
	table->runs = count;
	table->frames = picked;
	for (uint32_t i = 0, at = picked; i < own; i++) {
		at--;
		if (at == picked / 2)
			at--;
		table->extent[table->extents++] = (uint64_t)chosen[at] << 24 | 1;
		memset(memory + (size_t)chosen[at] * PAGE, 0, PAGE);
		memcpy(memory + (size_t)chosen[at] * PAGE, runs + i * 512, (i + 1 == own ? count - i * 512 : 512) * 8);
	}
	return table;
}

static uint64_t digest(const struct kup_table *table)
{
	struct xxh64 hash;

	xxh64_begin(&hash);
	xxh64_add(&hash, (const uint64_t *)&table->version, (PAGE - offsetof(struct kup_table, version)) / 32);
	for (uint32_t i = 0; i < table->extents && i < KUP_TABLE_EXTENTS; i++) {
		uint64_t first = kup_run_first(table->extent[i]), frames = kup_run_frames(table->extent[i]);

		if (first < FRAMES && first + frames <= FRAMES)
			xxh64_add(&hash, (const uint64_t *)(memory + first * PAGE), frames * (PAGE / 32));
	}
	return xxh64_end(&hash);
}

static const char *reserve_at(uint64_t address, struct reserve *reserve)
{
	static char line[2048];

	snprintf(line, sizeof(line), "root=/dev/vda kup_ppp.table=0x%llx,0x1234 quiet", (unsigned long long)address);
	*reserve = (struct reserve){ .memblock = &memblock, .direct_map = memory };
	for (uint64_t frame = LOWEST; frame < FRAMES - 64 && !reserve->keep_off; frame++)
		if (is_free(frame) && !runs_map[frame]) {
			reserve->keep_off = frame * PAGE;
			reserve->keep_off_end = (frame + 2) * PAGE;
			/* Of the room, the code needs a part; or it is not needed any more. */
			reserve->code_size = random_below(2) * PAGE;
		}
	return reserve_table(reserve, line);
}

/* Everything in memblock.reserved is as it was, or one of the runs, or the array, and nothing is missing. */
static void check_merged(const struct reserve *reserve)
{
	struct memblock_type *reserved = &memblock.reserved;
	uint64_t array = (char *)reserved->regions - memory, array_end, total = 0, end = 0, seen = 0, expected = 0;

	CHECK(array % PAGE == 0 && array >= LOWEST * PAGE);
	CHECK(reserved->cnt + 64 < reserved->max);
	array_end = array + (reserved->max * sizeof(struct memblock_region) + PAGE - 1) / PAGE * PAGE;
	CHECK(array_end <= reserve->keep_off || array >= reserve->keep_off_end);
	for (uint64_t frame = array / PAGE; frame < array_end / PAGE; frame++) {
		CHECK(is_free(frame) && !runs_map[frame]);
		map[frame] = RESERVED;
	}
	if (reserve->code_size)
		map[reserve->keep_off / PAGE] = RESERVED;
	for (uint64_t i = 0; i < reserved->cnt; i++) {
		const struct memblock_region *region = &reserved->regions[i];

		CHECK(region->size && region->base >= end && region->nid == 64 && region->flags == 0);
		end = region->base + region->size;
		total += region->size;
		for (uint64_t frame = region->base / PAGE; frame < end / PAGE; frame++) {
			CHECK(map[frame] == RESERVED || runs_map[frame]);
			seen++;
		}
	}
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		expected += map[frame] == RESERVED || runs_map[frame];
	CHECK(seen == expected && total == reserved->total_size);
}

static void check_unchanged(const struct memblock *before, const struct memblock_region *regions)
{
	CHECK(!memcmp(before, &memblock, sizeof(memblock)));
	CHECK(!memcmp(regions, reserved_regions, sizeof(reserved_regions)));
}

/* Reserve, and check that either all is right or nothing has changed. */
static const char *try_table(uint64_t address, struct reserve *reserve)
{
	struct memblock_region regions[128];
	struct memblock before = memblock;
	const char *wrong;

	memcpy(regions, reserved_regions, sizeof(regions));
	wrong = reserve_at(address, reserve);
	if (wrong)
		check_unchanged(&before, regions);
	return wrong;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A right table with bytes changed: each three say where in the header or the first list, and what. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct reserve reserve;
	struct kup_table *table;
	char *list;
	size_t i = 0;

	if (!memory)
		memory = aligned_alloc(PAGE, (size_t)FRAMES * PAGE);
	state = 88172645463325252ull;
	make_machine();
	table = make_table(30, FRAMES / 2);
	if (!table)
		return 0;
	/* Each three bytes: where in the header or the first list, and what. */
	list = memory + kup_run_first(table->extent[0]) * PAGE;
	for (; i + 3 <= size; i += 3) {
		uint32_t at = (bytes[i] | (uint32_t)bytes[i + 1] << 8) % (2 * PAGE);
		char *into = at < PAGE ? (char *)table : list;

		into[at % PAGE] = (char)bytes[i + 2];
	}
	table->digest = digest(table);
	if (!try_table((char *)table - memory, &reserve))
		CHECK(reserve.table == table && memblock.reserved.regions != reserved_regions);
	return 0;
}

#ifndef FUZZ
static void expect(const char *reason, struct kup_table *table)
{
	struct reserve reserve;
	const char *wrong = try_table((char *)table - memory, &reserve);

	if (!wrong || strcmp(wrong, reason)) {
		fprintf(stderr, "refused with '%s', expected '%s'\n", wrong ? wrong : "nothing", reason);
		abort();
	}
}

static uint64_t *run_of(struct kup_table *table, uint64_t index)
{
	return (uint64_t *)(memory + kup_run_first(table->extent[index / 512]) * PAGE) + index % 512;
}

static void check_refusals(void)
{
	struct kup_table *table, good;
	uint64_t run, *first, *second, header;
	int homeless = 0;

	/* One whose header's frame is a run of its own, with a free frame behind it. */
	do {
		make_machine();
		table = make_table(30, FRAMES / 2);
		header = table ? ((char *)table - memory) / PAGE : 1;
	} while (!table || table->runs < 600 || runs_map[header - 1] || runs_map[header + 1] || !is_free(header + 1));
	table->digest = digest(table);
	good = *table;
	first = run_of(table, 10);
	second = run_of(table, 11);

#define SPOIL(field, value, reason)            \
	do {                                   \
		table->field = (value);        \
		table->digest = digest(table); \
		expect(reason, table);         \
		*table = good;                 \
	} while (0)
	SPOIL(magic, good.magic + 1, "no table there");
	SPOIL(version, 2, "unknown version");
	SPOIL(nonce, 1, "table of another switch");
	SPOIL(address, good.address + PAGE, "damaged header");
	SPOIL(zero, 1, "damaged header");
	SPOIL(state, 1, "table was used before");
	SPOIL(runs, 0, "number of runs or extents out of bounds");
	SPOIL(runs, ~0ull, "number of runs or extents out of bounds");
	SPOIL(extents, 0, "number of runs or extents out of bounds");
	SPOIL(extents, KUP_TABLE_EXTENTS + 1, "number of runs or extents out of bounds");
	SPOIL(runs, good.runs + 512, "extents do not fit the number of runs");
	SPOIL(runs, good.runs - 1, "number of frames is wrong");
	SPOIL(frames, good.frames + 1, "number of frames is wrong");
	SPOIL(extent[0], (uint64_t)FRAMES << 24 | 1, "extent is not free memory");
	SPOIL(extent[0], ~0ull, "extent is not free memory");
	SPOIL(extent[0], reserved_regions[1].base / PAGE << 24 | 1, "extent is not free memory");
	table->owner[0] = 1;
	expect("wrong digest", table);
	*table = good;

#define SPOIL_RUN(value, reason)               \
	do {                                   \
		run = *first;                  \
		*first = (value);              \
		table->digest = digest(table); \
		expect(reason, table);         \
		*first = run;                  \
		*table = good;                 \
	} while (0)
	SPOIL_RUN(*second, "runs are not sorted or overlap");
	SPOIL_RUN(run & ~0xffffffull, "run is not free memory");
	SPOIL_RUN(kup_run_first(run) << 24 | 0xffffff, "run is not free memory");
	SPOIL_RUN(~0ull, "run is not free memory");
	SPOIL_RUN(0, "number of frames is wrong");
	/* An empty run ends nothing, even if the sum of those before it is right. */
	table->frames = 0;
	for (uint64_t i = 0; i < 10; i++)
		table->frames += kup_run_frames(*run_of(table, i));
	run = *first;
	*first = 0;
	table->digest = digest(table);
	expect("number of frames is wrong", table);
	*first = run;
	*table = good;
	/* A table that does not keep its own header: another frame is kept in its place. */
	for (uint64_t i = 0; i + 1 < good.runs; i++) {
		uint64_t *one = run_of(table, i);

		if (kup_run_first(*one) == good.address / PAGE && kup_run_frames(*one) == 1) {
			for (uint64_t frame = kup_run_first(*one) + 1; frame < kup_run_first(*run_of(table, i + 1)); frame++)
				if (is_free(frame)) {
					run = *one;
					*one = frame << 24 | 1;
					table->digest = digest(table);
					expect("table does not reserve itself", table);
					homeless++;
					*one = run;
					*table = good;
					break;
				}
			break;
		}
	}
	CHECK(homeless == 1);
	expect("no table there", (struct kup_table *)(memory + (kup_run_first(*second)) * PAGE));
}

static void check_words(void)
{
	static const char *const wrong[] = { "kup_ppp.table=",
					     "kup_ppp.table=0x1000",
					     "kup_ppp.table=0x1000,",
					     "kup_ppp.table=,0x1",
					     "kup_ppp.table=1000;1",
					     "kup_ppp.table=0x11111111111111111,1",
					     "kup_ppp.table=0x1000,0x1,2",
					     "kup_ppp.table=0x1000,0xg" };
	struct reserve reserve = { .memblock = &memblock, .direct_map = memory };
	char line[2048];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const char *reason;

		snprintf(line, sizeof(line), "a=b %s", wrong[i]);
		reason = reserve_table(&reserve, line);
		CHECK(reason && !strcmp(reason, "kup_ppp.table is not 0xADDRESS,0xNONCE"));
	}
	CHECK(!reserve_table(&reserve, "") && !reserve.table);
	CHECK(!reserve_table(&reserve, "quiet xkup_ppp.table=0x1000,0x1") && !reserve.table);
	CHECK(!strcmp(reserve_table(&reserve, "kup_ppp.table=0x1001,0x1"), "address is not free memory"));
	CHECK(!strcmp(reserve_table(&reserve, "kup_ppp.table=0xffffffffffff000,0x1"), "address is not free memory"));
	/* The last one counts, as for every parameter of the kernel. */
	CHECK(!strcmp(reserve_table(&reserve, "kup_ppp.table=0x1000 kup_ppp.table=0x1001,0x1"), "address is not free memory"));
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = 0;
	CHECK(!reserve_table(&reserve, line));
}

static void check_hash(void)
{
	/* XXH64 of 32 and 64 zero bytes, seed 0, as the reference implementation gives them. */
	static const uint64_t zeros[8];
	struct xxh64 hash;

	xxh64_begin(&hash);
	xxh64_add(&hash, zeros, 1);
	CHECK(xxh64_end(&hash) == 0xf6e9be5d70632cf5ull);
}

int main(void)
{
	unsigned int merged = 0, refused = 0;
	struct reserve reserve;

	memory = aligned_alloc(PAGE, (size_t)FRAMES * PAGE);
	CHECK(memory);
	check_hash();
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[30];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)random_below(256);
		/* Half of the changes go to the fields, which are few bytes. */
		bytes[1] = bytes[4] = 0;
		bytes[0] %= 160;
		bytes[3] %= 160;
		LLVMFuzzerTestOneInput(bytes, random_below(sizeof(bytes)));
	}
	for (int round = 0; round < 2000; round++) {
		static const char *const no_room = "no room for memblock's array";
		struct kup_table *table;
		const char *wrong;

		make_machine();
		table = make_table(1 + random_below(90), round % 10 ? 1 + random_below(FRAMES * 9 / 10) : FRAMES);
		if (!table)
			continue;
		table->digest = digest(table);
		wrong = try_table((char *)table - memory, &reserve);
		CHECK(!wrong || wrong == no_room || !strcmp(wrong, no_room));
		if (wrong) {
			refused++;
			continue;
		}
		check_merged(&reserve);
		CHECK(reserve.table == table && table->state == (KUP_TABLE_RESERVED ^ 0x1234));
		merged++;
	}
	fprintf(stderr, "%u tables merged, %u without room\n", merged, refused);
	CHECK(merged > 1000 && refused > 0);
	check_refusals();
	check_words();
	return 0;
}
#endif
