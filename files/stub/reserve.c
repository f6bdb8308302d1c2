// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Check the table of frames and merge it into memblock.reserved, in one pass over both.
 *
 * memblock_reserve() for each run would be quadratic, and its array can only double up to what fits in memory that is
 * mapped so early. So a new array is built in a hole that neither the kernel nor the table uses.
 */
#include "reserve.h"

#include "words.h"
#include "xxh64.h"

#define RUNS_PER_PAGE (PAGE / 8)
#define FRAMES (1ull << 40) /* 52 bits of physical address */

/* Free entries that the new array has beside what is in it: doubling it during the boot would cost a second large hole. */
#define SPARE 2048

/* The array is looked for above the memory that devices with 24 address bits and the boot of other CPUs need. */
#define LOWEST (16ull << 20)

static void *at(const struct reserve *reserve, uint64_t address)
{
	return reserve->direct_map + address;
}

/* Index of the first region of @type that ends behind @address. */
static uint64_t first_behind(const struct memblock_type *type, uint64_t address)
{
	uint64_t low = 0, high = type->cnt;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (type->regions[middle].base + type->regions[middle].size > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int is_memory(const struct memblock *memblock, uint64_t start, uint64_t end)
{
	const struct memblock_type *memory = &memblock->memory;
	uint64_t i = first_behind(memory, start), covered = start;

	/* Neighbouring regions may differ in node or flags only. */
	for (; i < memory->cnt && memory->regions[i].base <= covered && covered < end; i++)
		covered = memory->regions[i].base + memory->regions[i].size;
	return covered >= end;
}

/* Whether [@start, @end) is memory that is not reserved, and that this code will not reserve. */
static int is_free_memory(const struct reserve *reserve, uint64_t start, uint64_t end)
{
	const struct memblock_type *reserved = &reserve->memblock->reserved;
	uint64_t i = first_behind(reserved, start);

	if (!is_memory(reserve->memblock, start, end))
		return 0;
	if (start < reserve->keep_off + reserve->code_size && end > reserve->keep_off)
		return 0;
	return i == reserved->cnt || reserved->regions[i].base >= end;
}

static int is_free_run(const struct reserve *reserve, uint64_t run)
{
	uint64_t first = kup_run_first(run), frames = kup_run_frames(run);

	return frames && first + frames <= FRAMES && is_free_memory(reserve, first * PAGE, (first + frames) * PAGE);
}

/* Walks through the runs in the pages of the extents. */
struct cursor {
	uint64_t extent;
	uint64_t index; /* of the run within the extent */
	uint64_t left;
};

static struct cursor first_run(const struct kup_table *table)
{
	return (struct cursor){ .left = table->runs };
}

/* The next run, or 0 at the end. */
static uint64_t next_run(const struct reserve *reserve, struct cursor *cursor)
{
	const struct kup_table *table = reserve->table;
	const uint64_t *runs;

	if (!cursor->left)
		return 0;
	if (cursor->index == kup_run_frames(table->extent[cursor->extent]) * RUNS_PER_PAGE) {
		cursor->extent++;
		cursor->index = 0;
	}
	cursor->left--;
	runs = at(reserve, kup_run_first(table->extent[cursor->extent]) * PAGE);
	return runs[cursor->index++];
}

static const char *check_header(const struct reserve *reserve, uint64_t address, uint64_t nonce)
{
	const struct kup_table *table = reserve->table;
	uint64_t pages = 0;

	if (table->magic != KUP_TABLE_MAGIC)
		return "no table there";
	if (table->version != KUP_TABLE_VERSION)
		return "unknown version";
	if (table->nonce != nonce)
		return "table of another switch";
	if (table->address != address || table->zero)
		return "damaged header";
	if (table->state)
		return "table was used before";
	if (!table->runs || table->runs > KUP_TABLE_RUNS || !table->extents || table->extents > KUP_TABLE_EXTENTS)
		return "number of runs or extents out of bounds";
	for (uint32_t i = 0; i < table->extents; i++) {
		if (!is_free_run(reserve, table->extent[i]))
			return "extent is not free memory";
		pages += kup_run_frames(table->extent[i]);
	}
	if (pages != (table->runs + RUNS_PER_PAGE - 1) / RUNS_PER_PAGE)
		return "extents do not fit the number of runs";
	return 0;
}

static const char *check_digest(const struct reserve *reserve)
{
	const struct kup_table *table = reserve->table;
	struct xxh64 hash;

	xxh64_begin(&hash);
	xxh64_add(&hash, (const uint64_t *)&table->version, (PAGE - offsetof(struct kup_table, version)) / 32);
	for (uint32_t i = 0; i < table->extents; i++) {
		uint64_t extent = table->extent[i];

		xxh64_add(&hash, at(reserve, kup_run_first(extent) * PAGE), kup_run_frames(extent) * (PAGE / 32));
	}
	return xxh64_end(&hash) == table->digest ? 0 : "wrong digest";
}

/* How many frames of the runs belong to [@first, @end)? Counts each frame once, as the runs do not overlap. */
static uint64_t shared(uint64_t run, uint64_t first, uint64_t end)
{
	uint64_t low = kup_run_first(run), high = low + kup_run_frames(run);

	low = low > first ? low : first;
	high = high < end ? high : end;
	return low < high ? high - low : 0;
}

static const char *check_runs(const struct reserve *reserve)
{
	const struct kup_table *table = reserve->table;
	struct cursor cursor = first_run(table);
	uint64_t frames = 0, end = 0, own = 0, expected = 1, lowest, highest;

	/* Most runs are nowhere near the table's own pages: bounds spare them the look at each extent. */
	lowest = table->address / PAGE;
	highest = lowest + 1;
	for (uint32_t i = 0; i < table->extents; i++) {
		uint64_t extent = table->extent[i], behind = kup_run_first(extent) + kup_run_frames(extent);

		lowest = kup_run_first(extent) < lowest ? kup_run_first(extent) : lowest;
		highest = behind > highest ? behind : highest;
		expected += kup_run_frames(extent);
	}
	for (uint64_t run; (run = next_run(reserve, &cursor));) {
		if (kup_run_first(run) < end)
			return "runs are not sorted or overlap";
		if (!is_free_run(reserve, run))
			return "run is not free memory";
		end = kup_run_first(run) + kup_run_frames(run);
		frames += kup_run_frames(run);
		if (!shared(run, lowest, highest))
			continue;
		own += shared(run, table->address / PAGE, table->address / PAGE + 1);
		for (uint32_t i = 0; i < table->extents; i++) {
			uint64_t extent = table->extent[i];

			own += shared(run, kup_run_first(extent), kup_run_first(extent) + kup_run_frames(extent));
		}
	}
	if (cursor.left || frames != table->frames)
		return "number of frames is wrong";
	/* Extents that overlap each other or the header count more often than they have frames: damaged as well. */
	if (own != expected)
		return "table does not reserve itself";
	return 0;
}

/* Walks through what is reserved already, the runs, and two regions more, in order of their addresses. */
struct merge {
	uint64_t region;
	struct cursor cursor;
	uint64_t run;
	struct memblock_region extra[2]; /* ascending; size 0: none, or done */
	int32_t nid;
};

/* With the code, and with @array of @size bytes. */
static struct merge begin_merge(const struct reserve *reserve, uint64_t array, uint64_t size)
{
	const struct memblock_type *reserved = &reserve->memblock->reserved;
	struct merge merge = { .cursor = first_run(reserve->table) };
	int array_at = array > reserve->keep_off;

	/* What the kernel has reserved so far has no node; the word for "none" changed in 6.14. */
	merge.nid = reserved->regions[0].nid;
	merge.extra[array_at] = (struct memblock_region){ .base = array, .size = size, .nid = merge.nid };
	merge.extra[!array_at] =
		(struct memblock_region){ .base = reserve->keep_off, .size = reserve->code_size, .nid = merge.nid };
	merge.run = next_run(reserve, &merge.cursor);
	return merge;
}

static int next_region(const struct reserve *reserve, struct merge *merge, struct memblock_region *region)
{
	const struct memblock_type *reserved = &reserve->memblock->reserved;
	struct memblock_region *more = &merge->extra[!merge->extra[0].size];
	uint64_t none = ~0ull, old = none, run = none, extra = none;

	if (merge->region < reserved->cnt)
		old = reserved->regions[merge->region].base;
	if (merge->run)
		run = kup_run_first(merge->run) * PAGE;
	if (more->size)
		extra = more->base;
	if (old == none && run == none && extra == none)
		return 0;
	if (old < run && old < extra) {
		*region = reserved->regions[merge->region++];
	} else if (extra < run) {
		*region = *more;
		more->size = 0;
	} else {
		*region = (struct memblock_region){ .base = run, .size = kup_run_frames(merge->run) * PAGE, .nid = merge->nid };
		merge->run = next_run(reserve, &merge->cursor);
	}
	return 1;
}

/* Lowest place for @size bytes in [@start, @end) that is not the code's own, or 0. */
static uint64_t fit(const struct reserve *reserve, uint64_t start, uint64_t end, uint64_t size)
{
	start = (start + PAGE - 1) & ~(PAGE - 1);
	if (start < reserve->keep_off_end && start + size > reserve->keep_off)
		start = reserve->keep_off_end;
	return start < end && end - start >= size ? start : 0;
}

/* Lowest hole of @size bytes in memory that neither the kernel nor the table uses, or 0. */
static uint64_t find_hole(const struct reserve *reserve, uint64_t size)
{
	const struct memblock_type *memory = &reserve->memblock->memory;
	struct merge merge = begin_merge(reserve, 0, 0);
	struct memblock_region region;
	uint64_t start = LOWEST, more = 1;

	for (uint64_t i = 0; more;) {
		uint64_t end;

		more = next_region(reserve, &merge, &region);
		end = more ? region.base : FRAMES * PAGE;
		for (; i < memory->cnt && start < end; i++) {
			uint64_t low = memory->regions[i].base, high = low + memory->regions[i].size, found;

			if (low >= end)
				break;
			found = fit(reserve, low > start ? low : start, high < end ? high : end, size);
			if (found)
				return found;
			if (high >= end)
				break;
		}
		if (more && region.base + region.size > start)
			start = region.base + region.size;
	}
	return 0;
}

/* Fill @regions with everything that is to be reserved; returns how many entries that are. */
static uint64_t fill(const struct reserve *reserve, struct memblock_region *regions, uint64_t array, uint64_t size)
{
	struct merge merge = begin_merge(reserve, array, size);
	uint64_t count = 0;

	while (next_region(reserve, &merge, &regions[count])) {
		struct memblock_region *last = &regions[count], *before = last - 1;

		/* Runs end at 2^24 - 1 frames: join what belongs together, as memblock does. */
		if (count && before->base + before->size == last->base && before->nid == last->nid && before->flags == last->flags)
			before->size += last->size;
		else
			count++;
	}
	return count;
}

static const char *merge_table(const struct reserve *reserve)
{
	struct memblock_type *reserved = &reserve->memblock->reserved;
	/* The array and the code are reserved as well; one more is written and joined with the last. */
	uint64_t max = reserved->cnt + reserve->table->runs + 3 + SPARE;
	uint64_t size = (max * sizeof(struct memblock_region) + PAGE - 1) & ~(PAGE - 1);
	uint64_t hole = find_hole(reserve, size);

	if (!hole)
		return "no room for memblock's array";
	reserved->cnt = fill(reserve, at(reserve, hole), hole, size);
	reserved->max = max;
	reserved->total_size += reserve->table->frames * PAGE + size + reserve->code_size;
	reserved->regions = at(reserve, hole);
	return 0;
}

const char *reserve_table(struct reserve *reserve, const char *command_line)
{
	const char *wrong, *text = find_word(command_line, "kup_ppp.table=");
	uint64_t address, nonce;
	struct kup_table *table;

	reserve->table = 0;
	if (!text)
		return 0;
	if (!read_hex(&text, &address) || *text++ != ',' || !read_hex(&text, &nonce) || (*text && *text != ' '))
		return "kup_ppp.table is not 0xADDRESS,0xNONCE";
	if (address % PAGE || address / PAGE >= FRAMES || !is_free_memory(reserve, address, address + PAGE))
		return "address is not free memory";
	if (!reserve->memblock->reserved.cnt)
		return "nothing is reserved yet";
	table = at(reserve, address);
	reserve->table = table;
	wrong = check_header(reserve, address, nonce);
	wrong = wrong ? wrong : check_digest(reserve);
	wrong = wrong ? wrong : check_runs(reserve);
	wrong = wrong ? wrong : merge_table(reserve);
	if (!wrong)
		table->state = KUP_TABLE_RESERVED ^ nonce;
	return wrong;
}
