/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: the record of a fingerprint, the lists of near and of parked peers, and the kernel's lists of multicast groups. The first byte chooses. */
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lines.h"
#include "parking/near.h"
#include "parking/parked.h"
#include "put_right.h"
#include "sockets/memberships.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_text(const uint8_t *data, size_t size, bool is_list)
{
	static const char head[] = LINES_HEAD "\n";
	size_t length = sizeof(head) - 1;
	char *text = take_more(NULL, length + size + 1, 1);
	struct fingerprint *found;
	struct near_peers near;
	struct parked_peers parked;

	/* A copy, whose end the sanitizer watches. */
	memcpy(text, head, length);
	memcpy(text + length, data, size);
	text[length + size] = '\0';
	if (is_list && !near_parse(&near, text, length + size, "input"))
		near_free(&near);
	/* It was split in place. */
	memcpy(text, head, length);
	memcpy(text + length, data, size);
	if (is_list && !parked_parse(&parked, text, length + size, "input"))
		parked_free(&parked);
	found = is_list ? NULL : fingerprint_parse(text, length + size, "input");
	if (found)
		fingerprint_free(found);
	free(text);
}

static void try_groups(const uint8_t *data, size_t size, int family)
{
	struct groups groups = { 0 };
	FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

	if (!file)
		return;
	groups_parse(&groups, file, family);
	fclose(file);
	groups_free(&groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return -1;
	if (data[0] % 5 == 4)
		try_text(data + 1, size - 1, true);
	else if (data[0] % 5 == 2)
		try_groups(data + 1, size - 1, AF_INET);
	else if (data[0] % 5 == 3)
		try_groups(data + 1, size - 1, AF_INET6);
	else
		try_text(data + 1, size - 1, false);
	return 0;
}
