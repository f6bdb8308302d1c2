/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "sockets/file_name.h"
#include "sockets/identity.h"
#include "sockets/listener.h"
#include "sockets/options.h"
#include "sockets/sequence.h"

#define SLOTS_FIRST 1024 /* a power of two, as all sizes of the hash tables */

void sockets_record_begin(struct sockets_recorder *recorder, FILE *file)
{
	memset(recorder, 0, sizeof(*recorder));
	recorder->file = file;
	groups_read(&recorder->groups);
}

/* Whether the socket is new; it is not the next time. */
static bool remember(struct sockets_recorder *recorder, uint64_t inode)
{
	uint64_t *old = recorder->inodes;
	size_t size = recorder->inodes_size, at;

	if (2 * recorder->inodes_count >= size) {
		recorder->inodes_size = size ? 2 * size : SLOTS_FIRST;
		recorder->inodes = take_more(NULL, recorder->inodes_size, sizeof(*recorder->inodes));
		memset(recorder->inodes, 0, recorder->inodes_size * sizeof(*recorder->inodes));
		recorder->inodes_count = 0;
		for (size_t i = 0; i < size; i++)
			if (old[i])
				remember(recorder, old[i]);
		free(old);
	}
	for (at = inode; recorder->inodes[at & (recorder->inodes_size - 1)]; at++)
		if (recorder->inodes[at & (recorder->inodes_size - 1)] == inode)
			return false;
	recorder->inodes[at & (recorder->inodes_size - 1)] = inode;
	recorder->inodes_count++;
	return true;
}

static uint64_t hash(const char *text)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 1099511628211u;
	return sum;
}

/* A set is kept as "NUMBER TEXT". */
static void put_set(char **slots, size_t size, char *set)
{
	size_t at = hash(strchr(set, ' ') + 1);

	while (slots[at & (size - 1)])
		at++;
	slots[at & (size - 1)] = set;
}

/* The number of this set of options, which is written where it is new. */
static unsigned long set_number(struct sockets_recorder *recorder, const char *text)
{
	char **old = recorder->sets, **slots, *set;
	size_t size = recorder->sets_size, at;

	if (2 * recorder->sets_count >= size) {
		recorder->sets_size = size ? 2 * size : SLOTS_FIRST;
		slots = take_more(NULL, recorder->sets_size, sizeof(*slots));
		memset(slots, 0, recorder->sets_size * sizeof(*slots));
		for (size_t i = 0; i < size; i++)
			if (old[i])
				put_set(slots, recorder->sets_size, old[i]);
		free(old);
		recorder->sets = slots;
	}
	for (at = hash(text); recorder->sets[at & (recorder->sets_size - 1)]; at++) {
		set = recorder->sets[at & (recorder->sets_size - 1)];
		if (!strcmp(strchr(set, ' ') + 1, text))
			return strtoul(set, NULL, 10);
	}
	size = strlen(text) + 24;
	set = take_more(NULL, size, 1);
	snprintf(set, size, "%zu %s", recorder->sets_count, text);
	recorder->sets[at & (recorder->sets_size - 1)] = set;
	fprintf(recorder->file, "options %s\n", set);
	return recorder->sets_count++;
}

/* A buffer's size that nobody has set is the kernel's own affair: it grows and shrinks with the traffic. Known since Linux 5.14. */
static bool kernel_chooses(const struct option_type *type, int lock)
{
	enum { LOCKED_SEND = 1, LOCKED_RECEIVE = 2 };

	return (!strcmp(type->name, "SO_SNDBUF") && !(lock & LOCKED_SEND)) ||
	       (!strcmp(type->name, "SO_RCVBUF") && !(lock & LOCKED_RECEIVE));
}

static int buffer_lock(int copy)
{
	struct option_value value;
	int lock;

	if (option_get(copy, &option_types[option_find("SO_BUF_LOCK")], &value))
		return -1;
	memcpy(&lock, value.bytes, sizeof(lock));
	return lock;
}

static void write_options(FILE *file, int copy, unsigned on)
{
	struct option_value value;
	const char *separator = "";
	int lock = buffer_lock(copy);

	for (size_t i = 0; i < option_types_count; i++) {
		const struct option_type *type = &option_types[i];

		if (!(type->on & on) || kernel_chooses(type, lock) || option_get(copy, type, &value))
			continue;
		fprintf(file, "%s%s=", separator, type->name);
		separator = " ";
		if (type->kind == VALUE_NUMBER) {
			int number;

			memcpy(&number, value.bytes, sizeof(number));
			fprintf(file, "%d", number);
		} else {
			value_write(file, value.bytes, value.size);
		}
	}
}

static int record_socket(struct sockets_recorder *recorder, pid_t pid, int number, int copy)
{
	struct identity identity;
	CLEANUP_FREE char *text = NULL;
	unsigned long set;
	struct sequences next;
	size_t size;
	FILE *memory;

	if (identify(copy, &identity))
		return 0; /* closed, and the number was used again */
	memory = open_memstream(&text, &size);
	if (!memory)
		return fail("There is no memory for the fingerprint.");
	write_options(memory, copy, identity.on);
	if (fclose(memory))
		return fail("There is no memory for the fingerprint.");
	set = set_number(recorder, *text ? text : "-");
	fprintf(recorder->file, "socket %d %d %d %d %d ", pid, number, identity.family, identity.type, identity.protocol);
	value_write(recorder->file, &identity.local.address, identity.local.size);
	fputc(' ', recorder->file);
	value_write(recorder->file, &identity.remote.address, identity.remote.size);
	fprintf(recorder->file, " %lu\n", set);
	if ((identity.on & ON_STREAM) && identity.remote.size && is_open_for_peer(copy, NULL) && !sequences_read(copy, &next))
		fprintf(recorder->file, "sequence %d %d %" PRIu32 " %" PRIu32 " %u\n", pid, number, next.expected, next.sent,
			next.window);
	if (identity.on & ON_DATAGRAM)
		memberships_record(recorder->file, &recorder->groups, pid, number, copy, identity.family);
	if (identity.on & ON_UNIX) {
		file_name_record(recorder->file, pid, number, copy);
		listener_record(recorder->file, pid, number, copy);
	}
	return 0;
}

static int record_descriptor(struct sockets_recorder *recorder, pid_t pid, int process, int number)
{
	CLEANUP_FD int copy = copy_descriptor(process, number);

	if (copy >= 0)
		return record_socket(recorder, pid, number, copy);
	/* It has been closed, or the process has ended. */
	return errno == EBADF || errno == ESRCH ?
		       0 :
		       fail("Descriptor %d of process %d cannot be copied: %s", number, pid, strerror(errno));
}

int sockets_record(struct sockets_recorder *recorder, pid_t pid)
{
	CLEANUP_FD int process = open_process(pid);
	struct dirent *entry;
	char path[64];
	uint64_t number, inode;
	int result = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = process < 0 ? NULL : opendir(path);
	if (!directory && (errno == ESRCH || errno == ENOENT))
		return 0;
	if (!directory)
		return fail("The descriptors of process %d cannot be read: %s", pid, strerror(errno));
	while (!result && (entry = readdir(directory))) {
		inode = socket_inode(dirfd(directory), entry->d_name);
		if (inode && !parse_number(entry->d_name, INT32_MAX, &number) && remember(recorder, inode))
			result = record_descriptor(recorder, pid, process, (int)number);
	}
	closedir(directory);
	return result;
}

void sockets_record_end(struct sockets_recorder *recorder)
{
	for (size_t i = 0; i < recorder->sets_size; i++)
		free(recorder->sets[i]);
	free(recorder->sets);
	free(recorder->inodes);
	groups_free(&recorder->groups);
}
