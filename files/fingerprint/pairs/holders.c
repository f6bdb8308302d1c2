/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/holders.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"

/* Of all processes: each descriptor of a stream socket is one. */
#define DESCRIPTORS_MAX ((size_t)1 << 24)

static int add(struct holders *holders, struct holder holder)
{
	if (holders->count == DESCRIPTORS_MAX)
		return fail("The carried processes have more than %zu descriptors of unix sockets.", DESCRIPTORS_MAX);
	APPEND(holders->list, holders->count, holder);
	return 0;
}

static int find_in(struct holders *holders, uint32_t unit, pid_t pid, const struct unix_table *table)
{
	char path[64];
	struct dirent *entry;
	int result = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	if (!directory) /* one that has ended has no sockets */
		return errno == ENOENT || errno == ESRCH ? 0 : fail_errno("The descriptors of process %d cannot be read", pid);
	while (!result && (entry = readdir(directory))) {
		uint64_t inode = socket_inode(dirfd(directory), entry->d_name);
		const struct unix_socket *found =
			inode && inode <= UINT32_MAX ? unix_table_find(table, (uint32_t)inode) : NULL;
		uint64_t number;

		if (found && unix_is_stream(found) && !parse_number(entry->d_name, INT32_MAX, &number))
			result = add(holders, (struct holder){ (uint32_t)inode, unit, pid, (int)number });
	}
	closedir(directory);
	return result;
}

static int compare(const void *one, const void *other)
{
	const struct holder *first = one, *second = other;

	if (first->inode != second->inode)
		return first->inode > second->inode ? 1 : -1;
	return (first->unit > second->unit) - (first->unit < second->unit);
}

int holders_find(struct holders *holders, const struct carried *carried, const struct unix_table *table)
{
	size_t kept = 0;

	memset(holders, 0, sizeof(*holders));
	for (size_t i = 0; i < carried->count; i++)
		for (size_t j = 0; j < carried->units[i].processes_count; j++)
			if (find_in(holders, (uint32_t)i, carried->units[i].processes[j], table))
				return -1;
	if (!holders->count)
		return 0;
	qsort(holders->list, holders->count, sizeof(*holders->list), compare);
	for (size_t i = 0; i < holders->count; i++)
		if (!kept || compare(&holders->list[kept - 1], &holders->list[i]))
			holders->list[kept++] = holders->list[i];
	holders->count = kept;
	return 0;
}

void holders_free(struct holders *holders)
{
	free(holders->list);
	memset(holders, 0, sizeof(*holders));
}

const struct holder *holders_of(const struct holders *holders, uint32_t inode, size_t *count)
{
	size_t low = 0, high = holders->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (holders->list[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (*count = 0; low + *count < holders->count && holders->list[low + *count].inode == inode;)
		++*count;
	return *count ? &holders->list[low] : NULL;
}

int holder_copy(const struct holder *holder)
{
	CLEANUP_FD int process = open_process(holder->process);
	int copy = process < 0 ? -1 : copy_descriptor(process, holder->number);

	return copy < 0 ? fail_errno("Descriptor %d of process %d cannot be copied", holder->number, holder->process) : copy;
}
