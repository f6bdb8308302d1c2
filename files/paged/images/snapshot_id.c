/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/snapshot_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int snapshot_new(char text[SNAPSHOT_SIZE + 1])
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -1;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	strcat(text, "\n");
	return 0;
}

int snapshot_write(int directory, const char *text)
{
	CLEANUP_FD int fd = openat(directory, SNAPSHOT_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -1 : write_all(fd, text, SNAPSHOT_SIZE);
}

int snapshot_read(int directory, char text[SNAPSHOT_SIZE])
{
	CLEANUP_FD int fd = openat(directory, SNAPSHOT_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : read_all_at(fd, text, SNAPSHOT_SIZE, 0);
}
