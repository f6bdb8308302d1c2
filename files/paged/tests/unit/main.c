/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <time.h>

#include "snapshot.h"
#include "unit.h"

char directory[64] = "/dev/shm/paged-unit.XXXXXX";

int main(void)
{
	unsigned int seed = (unsigned int)time(NULL);
	char command[96];

	printf("unit_test: seed %u\n", seed);
	srand(seed);
	CHECK(mkdtemp(directory));
	test_core();
	test_images();
	test_tasks();
	test_runs();
	test_wire_form();
	test_wire_requests();
	for (int i = 0; i < 300; i++)
		test_regions();
	test_overtaken_events();
	test_damaged_regions();
	test_process();
	test_journal();
	test_phase();
	test_sums();
	test_forget();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 1 : 0;
}
