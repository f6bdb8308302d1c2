/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRIU's images, and the list of frame tasks. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frames/frame_tasks.h"
#include "images/core.h"
#include "images/mm.h"
#include "images/pagemap.h"
#include "page_server/wire.h"
#include "snapshot.h"
#include "unit.h"

/* As CRIU writes it, with nothing but what matters here and a field that nobody knows. */
static const uint8_t core_image[] = {
	0x19,
	0x43,
	0x56,
	0x54,
	0x47,
	0x38,
	0x05,
	0x55,
	0x2a,
	0,
	0,
	0,
	0x08,
	1,
	/* thread_info: clear_tid_addr, gpregs (sp, fs_base) */
	0x12,
	19,
	0x08,
	0x90,
	0xa4,
	0xc1,
	0xff,
	0x0f,
	0x12,
	11,
	0xa0,
	0x01,
	0x80,
	0x20,
	0xb0,
	0x01,
	0x80,
	0x84,
	0xc1,
	0xff,
	0x0f,
	/* tc: task_state */
	0x1a,
	2,
	0x08,
	3,
	/* thread_core: rseq_entry (pointer, size) */
	0x2a,
	13,
	0x7a,
	8,
	0x08,
	0xe0,
	0xa6,
	0xc1,
	0xff,
	0x0f,
	0x10,
	0x20,
	0xc0,
	0x3e,
	5,
};

void test_core(void)
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

void test_images(void)
{
	/* The last ones: locked, a shadow stack, and guarded pages of the first one. */
	const struct area areas[] = { { 0x10000, 5, 0, 0 },
				      { 0x20000, 7, 0, 0 },
				      { 0x30000, 1, MAP_LOCKED, 0 },
				      { 0x31000, 1, 0, 1 << 15 },
				      { 0x11000, 1, 0, 1 << 16 } };
	const struct run wrong[] = { { 0x7001, 1, PE_LAZY },
				     { 0x7000, 0, PE_LAZY },
				     { 0x7000, PAGES_MAX + 1, PE_LAZY },
				     { ADDRESS_END - 0x1000, 2, PE_LAZY },
				     { ADDRESS_END, 1, PE_LAZY } };
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
	/* One run each: no page address, no pages, too many of them, and two that leave user space. */
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct runs one = { .list = (struct run *)&wrong[i], .count = 1 };

		CHECK(!pagemap_write(fd, OBJECT_TASK, 12, 1, &one) && pagemap_read(fd, 12, &read));
	}
	runs_free(&read);
	runs_free(&written);
	close(fd);
}

void test_tasks(void)
{
	const struct frame_task one = { 4711, 3, 12, 1ull << 33 }, other = { 22, 0, 0, 0 };
	const char *const wrong[] = { "1 run 0 1 1\n", "4711 run 0 1\n", "x run 0 1 1\n", "4711 run 4294967295 1 1\n" };
	char text[2 * FRAME_TASK_LINE_MAX], path[96];
	struct frame_tasks tasks = { 0 };
	int size = frame_task_print(text, &one, true);
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	size += frame_task_print(text + size, &other, false);
	CHECK(!replace_file(fd, TASKS_FILE, text, (size_t)size) && !frame_tasks_read(directory, &tasks));
	CHECK(tasks.count == 2 && !memcmp(&tasks.list[0], &one, sizeof(one)) && !memcmp(&tasks.list[1], &other, sizeof(other)));
	frame_tasks_free(&tasks);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tasks = (struct frame_tasks){ 0 };
		CHECK(!replace_file(fd, TASKS_FILE, wrong[i], strlen(wrong[i])) && frame_tasks_read(directory, &tasks));
		frame_tasks_free(&tasks);
	}
	snprintf(path, sizeof(path), "%s/%s", directory, TASKS_FILE);
	CHECK(!unlink(path));
	close(fd);
}
