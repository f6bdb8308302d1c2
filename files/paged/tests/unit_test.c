/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that need no other process: wire format, regions under events, images, journal, checksums. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "images.h"
#include "journal.h"
#include "kept_tasks.h"
#include "object.h"
#include "regions.h"
#include "snapshot.h"
#include "sum.h"
#include "wire.h"

static char directory[64] = "/dev/shm/paged-unit.XXXXXX";

/* ---- core images ---- */

/* As CRIU writes it, with nothing but what matters here and a field that nobody knows. */
static const uint8_t core_image[] = {
	0x19, 0x43, 0x56, 0x54, 0x47, 0x38, 0x05, 0x55, 0x2a, 0, 0, 0, 0x08, 1,
	/* thread_info: clear_tid_addr, gpregs (sp, fs_base) */
	0x12, 19, 0x08, 0x90, 0xa4, 0xc1, 0xff, 0x0f, 0x12, 11, 0xa0, 0x01, 0x80, 0x20, 0xb0, 0x01, 0x80, 0x84, 0xc1, 0xff, 0x0f,
	/* tc: task_state */
	0x1a, 2, 0x08, 3,
	/* thread_core: rseq_entry (pointer, size) */
	0x2a, 13, 0x7a, 8, 0x08, 0xe0, 0xa6, 0xc1, 0xff, 0x0f, 0x10, 0x20, 0xc0, 0x3e, 5,
};

static void test_core(void)
{
	uint8_t bytes[sizeof(core_image)];
	struct core core;

	memcpy(bytes, core_image, sizeof(bytes));
	CHECK(!core_parse(bytes, sizeof(bytes), "core", &core));
	CHECK(core.clear_tid == 0xfff05210 && core.fs_base == 0xfff04200 && core.stopped);
	CHECK(core.rseq == 0xfff05360 && core.rseq_size == 32 && core.sp == 0x1000 && !core.altstack_size);
	/* Cut off, of another kind, and with a field that is longer than its message. */
	CHECK(core_parse(bytes, sizeof(bytes) - 1, "core", &core));
	bytes[4] ^= 1;
	CHECK(core_parse(bytes, sizeof(bytes), "core", &core));
	bytes[4] ^= 1;
	bytes[15]++;
	CHECK(core_parse(bytes, sizeof(bytes), "core", &core));
}

/* ---- wire ---- */

static void put(uint8_t *bytes, int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object)
{
	uint32_t low = (uint32_t)pages;

	memset(bytes, 0, 32);
	memcpy(bytes, &command, 4);
	if (form == 24)
		memcpy(bytes + 4, &low, 4);
	else
		memcpy(bytes + 8, &pages, 8);
	memcpy(bytes + (form == 24 ? 8 : 16), &address, 8);
	memcpy(bytes + (form == 24 ? 16 : 24), &object, 8);
}

static int decode(int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object, struct wire_request *request)
{
	uint8_t bytes[32];

	put(bytes, form, command, pages, address, object);
	return wire_decode((enum wire_form)form, bytes, request);
}

static void test_wire_form(void)
{
	uint8_t bytes[32];

	for (int form = 24; form <= 32; form += 8) {
		put(bytes, form, PS_OPEN2, 0, 0, 77 << 8 | 1);
		CHECK(wire_form(bytes) == (enum wire_form)form);
		put(bytes, form, PS_PARENT, 0, 0, 77 << 8 | 2);
		CHECK(wire_form(bytes) == (enum wire_form)form);
		put(bytes, form, PS_FORCE_CLOSE, 0, 0, 0);
		CHECK(wire_form(bytes) == WIRE_24);
		put(bytes, form, 7 | PE_PRESENT << 16, 1, 4096, 77 << 8 | 1);
		CHECK(wire_form(bytes) == WIRE_UNKNOWN);
	}
	put(bytes, 24, PS_OPEN2, 0, 4096, 77 << 8 | 1);
	CHECK(wire_form(bytes) == WIRE_UNKNOWN);
	memcpy(bytes, "GET / HTTP/1.1\r\nHost: localhost\r", 32);
	CHECK(wire_form(bytes) == WIRE_UNKNOWN);
}

static void test_wire_requests(void)
{
	const uint64_t task = 77 << 8 | 1, last = ((uint64_t)1 << 56) - 4096;
	const uint32_t add = PS_ADD_F | PE_PRESENT << 16;
	struct wire_request request;

	for (int form = 24; form <= 32; form += 8) {
		CHECK(!decode(form, add | PE_LAZY << 16, 3, 0x7000, task, &request));
		CHECK(request.command == PS_ADD_F && request.flags == (PE_PRESENT | PE_LAZY) && request.pages == 3 &&
		      request.address == 0x7000 && request.id == 77 && request.type == OBJECT_TASK);
		CHECK(!decode(form, PS_ADD_F | PE_PARENT << 16, 1, last, 5 << 8 | 2, &request) && request.type == OBJECT_SHMEM);
		CHECK(!decode(form, PS_FORCE_CLOSE, 0, 0, 0, &request) && request.command == PS_FORCE_CLOSE);
		CHECK(decode(form, add, 2, last, task, &request));
		CHECK(decode(form, add, 0, 0x7000, task, &request));
		CHECK(decode(form, add, 1, 0x7001, task, &request));
		CHECK(decode(form, add, 1, last + 4096, task, &request));
		CHECK(decode(form, PS_ADD_F, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_ADD_F | PE_LAZY << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_ADD_F | (PE_PARENT | PE_PRESENT) << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, add, 1, 0x7000, 77 << 8 | 3, &request));
		CHECK(decode(form, add, 1, 0x7000, 1, &request));
		CHECK(decode(form, add, 1, 0x7000, (uint64_t)1 << 40 | 1, &request));
		CHECK(decode(form, 7 | PE_PRESENT << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_OPEN2, 1, 0, task, &request));
	}
	CHECK(decode(32, add, (uint64_t)1 << 40, 0x7000, task, &request));
}

/* ---- regions, against a table with one entry for each page ---- */

#define MODEL_PAGES 512
#define MODEL_BASE ((uint64_t)0x100000)

struct model {
	/* Source page + 1, 0 for zeros or nothing. */
	uint64_t source[MODEL_PAGES];
	bool area[MODEL_PAGES];
};

static void compare_regions(struct regions *regions, const struct model *model)
{
	uint64_t left = 0, end = 0;

	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		const struct region *region = regions_find(regions, MODEL_BASE + i * 4096);
		uint64_t source = 0;

		CHECK(!region == !model->area[i]);
		if (region && region->source != SOURCE_ZEROS) {
			uint64_t offset = MODEL_BASE + i * 4096 - region->start, address = 0;

			CHECK(regions_find_bit(regions, region->bit + offset / 4096, &address) && address == MODEL_BASE + i * 4096);
			source = (region->source + offset - MODEL_BASE) / 4096 + 1;
			left += !regions_installed(regions, region->bit + offset / 4096);
		}
		CHECK(source == model->source[i]);
	}
	CHECK(left == regions->left);
	for (size_t i = 0; i < regions->now.count; i++) {
		CHECK(regions->now.list[i].start >= end && regions->now.list[i].pages);
		end = region_end(&regions->now.list[i]);
	}
	CHECK(!regions->shadow.count);
}

static void model_event(struct regions *regions, struct model *model)
{
	uint64_t first = (uint64_t)rand() % MODEL_PAGES, count = 1 + (uint64_t)rand() % 40, to = (uint64_t)rand() % MODEL_PAGES;
	struct model before;

	if (first + count > MODEL_PAGES)
		count = MODEL_PAGES - first;
	switch (rand() % 3) {
	case 0:
		regions_remove(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		memset(&model->source[first], 0, count * sizeof(*model->source));
		return;
	case 1:
		regions_unmap(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		memset(&model->source[first], 0, count * sizeof(*model->source));
		memset(&model->area[first], 0, count * sizeof(*model->area));
		return;
	default:
		if (to + count > MODEL_PAGES || (to < first + count && first < to + count))
			return;
		/* As mremap(2) does: unmaps the destination, moves, unmaps the source. */
		regions_unmap(regions, MODEL_BASE + to * 4096, MODEL_BASE + (to + count) * 4096);
		regions_move(regions, MODEL_BASE + first * 4096, MODEL_BASE + to * 4096, count * 4096);
		regions_unmap(regions, MODEL_BASE + first * 4096, MODEL_BASE + (first + count) * 4096);
		before = *model;
		memcpy(&model->source[to], &before.source[first], count * sizeof(*model->source));
		memcpy(&model->area[to], &before.area[first], count * sizeof(*model->area));
		memset(&model->source[first], 0, count * sizeof(*model->source));
		memset(&model->area[first], 0, count * sizeof(*model->area));
	}
}

static void prefetch_some(struct regions *regions)
{
	uint64_t address, pages;

	regions->cursor = MODEL_BASE + (uint64_t)rand() % MODEL_PAGES * 4096;
	if (!regions_next(regions, 16, &address, &pages))
		return;
	for (uint64_t i = 0; i < pages; i++) {
		struct region *region = regions_find(regions, address + i * 4096);

		CHECK(region && region->source != SOURCE_ZEROS);
		regions_set_installed(regions, region->bit + (address - region->start) / 4096 + i);
	}
}

static void test_regions(void)
{
	struct runs runs = { 0 }, areas = { 0 };
	struct regions regions, child, loaded;
	struct model model = { 0 };

	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		/* An area with holes, and content with holes. */
		model.area[i] = i % 100 < 80;
		model.source[i] = model.area[i] && i % 7 < 5 ? i + 1 : 0;
		if (model.area[i])
			runs_add(&areas, MODEL_BASE + i * 4096, 1, PE_LAZY);
		if (model.source[i])
			runs_add(&runs, MODEL_BASE + i * 4096, 1, PE_LAZY);
	}
	CHECK(!regions_init(&regions, &runs, &areas));
	compare_regions(&regions, &model);
	for (int i = 0; i < 60; i++) {
		model_event(&regions, &model);
		prefetch_some(&regions);
		compare_regions(&regions, &model);
	}
	regions_copy(&child, &regions);
	compare_regions(&child, &model);
	/* What a journal saves: all but the bits, which only say what need not be done again. */
	CHECK(!regions_load(&loaded, regions.now.list, regions.now.count, regions.bits));
	while (regions.left) {
		CHECK(regions_next(&regions, 100, &(uint64_t){ 0 }, &(uint64_t){ 0 }));
		prefetch_some(&regions);
	}
	compare_regions(&loaded, &model);
	regions_free(&regions);
	regions_free(&child);
	regions_free(&loaded);
	areas.count--;
	CHECK(regions_init(&regions, &runs, &areas));
	runs_free(&runs);
	runs_free(&areas);
}

static void test_tasks(void)
{
	const struct kept_task one = { 4711, 3, 12, 1ull << 33 }, other = { 22, 0, 0, 0 };
	const char *const wrong[] = { "1 run 0 1 1\n", "4711 run 0 1\n", "x run 0 1 1\n", "4711 run 4294967295 1 1\n" };
	char text[2 * KEPT_LINE_MAX], path[96];
	struct kept_tasks tasks = { 0 };
	int size = kept_task_print(text, &one, true);
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	size += kept_task_print(text + size, &other, false);
	CHECK(!replace_file(fd, TASKS_FILE, text, (size_t)size) && !kept_tasks_read(directory, &tasks));
	CHECK(tasks.count == 2 && !memcmp(&tasks.list[0], &one, sizeof(one)) && !memcmp(&tasks.list[1], &other, sizeof(other)));
	free(tasks.list);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tasks = (struct kept_tasks){ 0 };
		CHECK(!replace_file(fd, TASKS_FILE, wrong[i], strlen(wrong[i])) && kept_tasks_read(directory, &tasks));
		free(tasks.list);
	}
	snprintf(path, sizeof(path), "%s/%s", directory, TASKS_FILE);
	CHECK(!unlink(path));
	close(fd);
}

static uint64_t source_at(struct regions *regions, uint64_t page)
{
	const struct region *region = regions_find(regions, page * 4096);

	return region && region->source != SOURCE_ZEROS ? (region->source + page * 4096 - region->start) / 4096 : 0;
}

/* Events in the order in which two threads can really produce them. */
static void test_overtaken_events(void)
{
	struct runs runs = { 0 };
	struct regions regions;

	runs_add(&runs, 16 * 4096, 64, PE_LAZY);
	CHECK(!regions_init(&regions, &runs, &runs));
	/* One unmaps 16-20, another moves 30-34 there, and the second event comes first. */
	regions_move(&regions, 30 * 4096, 16 * 4096, 4 * 4096);
	regions_unmap(&regions, 30 * 4096, 34 * 4096);
	regions_unmap(&regions, 16 * 4096, 20 * 4096);
	CHECK(source_at(&regions, 16) == 30 && source_at(&regions, 19) == 33 && !source_at(&regions, 30));
	/* One moves 40-44 away to 100, another moves 50-54 to 40 in between its two events. */
	regions_move(&regions, 40 * 4096, 100 * 4096, 4 * 4096);
	regions_move(&regions, 50 * 4096, 40 * 4096, 4 * 4096);
	regions_unmap(&regions, 40 * 4096, 44 * 4096);
	regions_unmap(&regions, 50 * 4096, 54 * 4096);
	CHECK(source_at(&regions, 100) == 40 && source_at(&regions, 40) == 50 && !source_at(&regions, 50));
	/* The same, but even the first event comes after the other's. */
	regions_move(&regions, 60 * 4096, 70 * 4096, 4 * 4096);
	regions_move(&regions, 70 * 4096, 200 * 4096, 4 * 4096);
	regions_unmap(&regions, 60 * 4096, 64 * 4096);
	regions_unmap(&regions, 70 * 4096, 74 * 4096);
	CHECK(source_at(&regions, 200) == 70 && source_at(&regions, 70) == 60 && !source_at(&regions, 60));
	CHECK(!regions.shadow.count && !regions.moved_away.count);
	regions_free(&regions);
	runs_free(&runs);
}

/* ---- images ---- */

static void test_images(void)
{
	/* The last ones: locked, a shadow stack, and guarded pages of the first one. */
	const struct area areas[] = { { 0x10000, 5, 0, 0 },
				      { 0x20000, 7, 0, 0 },
				      { 0x30000, 1, MAP_LOCKED, 0 },
				      { 0x31000, 1, 0, 1 << 15 },
				      { 0x11000, 1, 0, 1 << 16 } };
	struct runs written = { 0 }, read = { 0 };
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	runs_add(&written, 0x7000, 3, PE_PRESENT);
	runs_add(&written, 0xa000, 1, PE_LAZY);
	runs_add(&written, ((uint64_t)1 << 56) - 4096, 1, PE_LAZY);
	CHECK(!pagemap_write(fd, OBJECT_TASK, 12, 1, &written) && !pagemap_read(fd, 12, &read));
	CHECK(read.count == 3 && !memcmp(read.list, written.list, 3 * sizeof(*read.list)));
	runs_free(&read);
	write_mm(directory, 12, areas, 5);
	CHECK(!mm_read(fd, 12, &read) && read.count == 2 && read.list[1].address == 0x20000 && read.list[1].pages == 7);
	runs_free(&read);
	write_mm(directory, 12, areas + 2, 2);
	CHECK(!mm_read(fd, 12, &read) && !read.count);
	CHECK(mm_read(fd, 13, &read) && pagemap_read(fd, 13, &read));
	CHECK(pagemap_parse("\x19\x43\x56\x54", 4, "short", &read));
	runs_add(&written, 0x7000, 1, PE_PRESENT);
	CHECK(!pagemap_write(fd, OBJECT_TASK, 12, 1, &written) && pagemap_read(fd, 12, &read));
	CHECK(runs_sort(&written));
	runs_free(&read);
	runs_free(&written);
	close(fd);
}

/* ---- journal ---- */

static void test_journal(void)
{
	char path[128];
	struct journal journal;
	struct slot *slot;

	snprintf(path, sizeof(path), "%s/journal", directory);
	CHECK(journal_open(&journal, path) == 1);
	CHECK(!journal_create(&journal, path, "0123456789abcdef0123456789abcdef\n", false, 0, NULL, 0, 0));
	slot = journal_prepare(&journal, SLOT_HELLO, 0);
	slot->hello.pid = 77;
	journal_commit(&journal);
	/* Killed before the kernel has written, after it has, and after a page fault. */
	(void)journal_prepare(&journal, SLOT_EVENT, 3);
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 1 && journal.slots[0].hello.pid == 77);
	slot = journal_prepare(&journal, SLOT_EVENT, 3);
	slot->event.event = UFFD_EVENT_FORK;
	slot->event.arg.fork.ufd = 9;
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 2 && slot_descriptor(&journal.slots[1]) == 9);
	slot = journal_prepare(&journal, SLOT_EVENT, 3);
	slot->event.event = UFFD_EVENT_PAGEFAULT;
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 2);
	while (!journal_full(&journal)) {
		journal_prepare(&journal, SLOT_DONE, 1);
		journal_commit(&journal);
	}
	CHECK(journal_prepare(&journal, SLOT_DONE, 1));
	journal_close(&journal);
	CHECK(!truncate(path, 4096) && journal_open(&journal, path) == -1);
	CHECK(!truncate(path, 10) && journal_open(&journal, path) == -1);
}

/* ---- flat files and sums ---- */

static void test_sums(void)
{
	static uint64_t page[512];
	uint64_t sum;

	for (uint64_t i = 0; i < 512; i++)
		page[i] = (uint64_t)rand() * (uint64_t)rand();
	sum = page_sum(page, 0x7000);
	CHECK((sum & SUM_COVERED) && sum_matches(sum, page, 0x7000));
	CHECK(!sum_matches(sum, page, 0x8000) && !sum_matches(0, page, 0x7000));
	for (int i = 0; i < 4096 * 8; i++) {
		((uint8_t *)page)[i / 8] ^= (uint8_t)(1 << i % 8);
		CHECK(!sum_matches(sum, page, 0x7000));
		((uint8_t *)page)[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void test_forget(void)
{
	const uint64_t border = SEGMENT_SIZE;
	uint64_t ones[600], got[600];
	struct object object;
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < 600; i++)
		ones[i] = SUM_COVERED | i;
	object_init(&object, fd, OBJECT_TASK, 9, true);
	CHECK(!object_write_sums(&object, 0x100000, ones, 600));
	CHECK(!object_write_sums(&object, border, ones, 2) && !object_write_sums(&object, border - 4096, ones, 1));
	CHECK(object_exists(fd, OBJECT_TASK, 9) && !object_exists(fd, OBJECT_SHMEM, 9) && !object_exists(fd, OBJECT_TASK, 99));
	CHECK(segment_rest(border - 8192, 5) == 2 && segment_rest(border, 5) == 5);
	CHECK(!object_forget(&object, 0x100000 + 3 * 4096, 0x100000 + 590 * 4096));
	CHECK(!object_read_sums(&object, 0x100000, got, 600));
	for (size_t i = 0; i < 600; i++)
		CHECK(got[i] == (i < 3 || i >= 590 ? ones[i] : 0));
	CHECK(!object_forget(&object, border - 4096, border + 4096));
	CHECK(!object_read_sums(&object, border, got, 2) && !got[0] && got[1] == ones[1]);
	CHECK(!object_read_sums(&object, border - 4096, got, 1) && !got[0]);
	CHECK(!object_forget(&object, 0, ADDRESS_END));
	CHECK(!object_read_sums(&object, 0x100000, got, 600) && !got[0] && !got[599]);
	object_close(&object);
	close(fd);
}

int main(void)
{
	unsigned int seed = (unsigned int)time(NULL);
	char command[96];

	printf("unit_test: seed %u\n", seed);
	srand(seed);
	CHECK(mkdtemp(directory));
	test_core();
	test_wire_form();
	test_wire_requests();
	for (int i = 0; i < 300; i++)
		test_regions();
	test_overtaken_events();
	test_tasks();
	test_images();
	test_journal();
	test_sums();
	test_forget();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 1 : 0;
}
