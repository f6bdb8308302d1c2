/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static char command[128];

static void remove_directory(void)
{
	if (system(command))
		fputs("the fuzz target's directory is left over\n", stderr);
}

void fuzz_remove_at_exit(const char *directory)
{
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	atexit(remove_directory);
}
