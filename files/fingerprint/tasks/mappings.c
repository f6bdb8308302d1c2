/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/mappings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/base.h"
#include "tasks/inject.h"

#define WIPE_ON_FORK "wipe-on-fork"

/* Two addresses in hexadecimal. */
static int parse_range(const char *value, uint64_t *start, uint64_t *end)
{
	static const char digits[] = "0123456789abcdef";
	size_t first = strspn(value, digits), last = value[first] == '-' ? strspn(value + first + 1, digits) : 0;

	if (!first || !last || first > 16 || last > 16 || value[first + 1 + last])
		return -1;
	sscanf(value, "%" SCNx64 "-%" SCNx64, start, end);
	return *start < *end ? 0 : -1;
}

bool mappings_know(const char *name)
{
	return name && !strcmp(name, WIPE_ON_FORK);
}

int mappings_set(pid_t process, const char *name, const char *value)
{
	struct injection injection;
	uint64_t start, end;
	int64_t said = 0;
	int result;

	if (parse_range(value, &start, &end))
		return fail("The mapping '%s' is broken, expected two addresses in hexadecimal, START-END.", value);
	if (inject_begin(&injection, process))
		return -1;
	result = inject_call(&injection, SYS_madvise, (const uint64_t[6]){ start, end - start, MADV_WIPEONFORK }, &said);
	if (inject_end(&injection) || result)
		return -1;
	if (said < 0)
		return fail("Process %d cannot get its mapping %s to be %s again: %s.", process, value, name, strerror((int)-said));
	return 0;
}
