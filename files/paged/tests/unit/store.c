/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flat files and the sums of their pages. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "snapshot.h"
#include "store/flat_file.h"
#include "store/sum.h"
#include "unit.h"

void test_sums(void)
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

void test_forget(void)
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
