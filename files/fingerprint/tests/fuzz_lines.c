/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: the record of a fingerprint, and the kernel's lists of multicast groups. The first byte chooses the reader. */
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lines.h"
#include "put_right.h"
#include "sockets/memberships.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_record(const uint8_t *data, size_t size)
{
	static const char head[] = LINES_HEAD "\n";
	size_t length = sizeof(head) - 1;
	char *text = take_more(NULL, length + size + 1, 1);
	struct fingerprint *found;

	/* A copy, whose end the sanitizer watches. */
	memcpy(text, head, length);
	memcpy(text + length, data, size);
	text[length + size] = '\0';
	found = fingerprint_parse(text, length + size, "input");
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
	if (data[0] % 4 == 2)
		try_groups(data + 1, size - 1, AF_INET);
	else if (data[0] % 4 == 3)
		try_groups(data + 1, size - 1, AF_INET6);
	else
		try_record(data + 1, size - 1);
	return 0;
}
