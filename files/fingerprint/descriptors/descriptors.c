/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "descriptors/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors/told.h"

/* What F_SETFL sets (fcntl(2)). */
#define SETTABLE (O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK)

static const struct fact_type newer[] = { { "eventfd-semaphore", FACT_NEW } };
static const struct fact_types types = { newer, sizeof(newer) / sizeof(*newer) };

static int open_directory(pid_t process, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", process, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The facts of a descriptor as text, to be freed. NULL, with `*code` as that of told_write(). */
static char *facts_of(const struct told_of *told, const char *number, int *code)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory) {
		*code = fail("There is no memory for the fingerprint.");
		return NULL;
	}
	*code = told_write(memory, told, number);
	if (fclose(memory) && !*code)
		*code = fail("There is no memory for the fingerprint.");
	if (!*code)
		return text;
	free(text);
	return NULL;
}

int descriptors_record(FILE *file, pid_t process)
{
	CLEANUP_FD int information = open_directory(process, "fdinfo");
	int links = open_directory(process, "fd"), result = 0;
	DIR *directory = links < 0 || information < 0 ? NULL : fdopendir(links);
	const struct told_of told = { links, information };
	struct dirent *entry;
	uint64_t number;

	if (!directory) {
		result = errno == ENOENT || errno == ESRCH ? 0 : fail_errno("The descriptors of process %d cannot be read", process);
		close_fd(&links);
		return result;
	}
	while (!result && (entry = readdir(directory))) {
		int code = 0;
		CLEANUP_FREE char *text = NULL;

		if (!parse_number(entry->d_name, INT_MAX, &number) && !socket_inode(links, entry->d_name))
			text = facts_of(&told, entry->d_name, &code);
		if (text)
			fprintf(file, "descriptor %d %s%s\n", process, entry->d_name, text);
		else if (code < 0)
			result = -1;
	}
	closedir(directory);
	return result;
}

int descriptors_take(struct facts *facts, struct words *words)
{
	return facts_take(facts, words, "descriptor", true);
}

/* Has the open file get the status flags of the record, where these are all that differs in its flags. Whether it was tried. */
static bool set_flags(struct process_handle *handle, const struct facts_line *line, const char *now)
{
	const char *flags = fact_value(line->words, line->count, "flags");
	const char *found = strstr(now, " flags=");
	unsigned long then, is;

	if (!flags || !found)
		return false;
	then = strtoul(flags, NULL, 8);
	is = strtoul(found + strlen(" flags="), NULL, 8);
	if (then == is || (then ^ is) & ~(unsigned long)SETTABLE)
		return false;
	CLEANUP_FD int copy = copy_of(handle, line->process, line->number);
	return copy >= 0 && !fcntl(copy, F_SETFL, (int)then);
}

static size_t compare(struct process_handle *handle, const struct told_of *told, const struct facts_line *line)
{
	char where[64], number[16];
	char *now;
	int code;
	size_t left;

	snprintf(where, sizeof(where), "process %d descriptor %d", line->process, line->number);
	snprintf(number, sizeof(number), "%d", line->number);
	now = facts_of(told, number, &code);
	if (now && set_flags(handle, line, now)) {
		free(now);
		now = facts_of(told, number, &code);
	}
	if (!now) {
		printf("%s: it is not there\n", where);
		return 1;
	}
	left = facts_compare(line, now, &types, true, where);
	free(now);
	return left;
}

size_t descriptors_put_right(const struct facts *facts)
{
	struct process_handle handle = { .process = -1 };
	struct told_of told = { -1, -1 };
	pid_t process = 0;
	bool still = false;
	size_t left = 0;

	for (size_t i = 0; i < facts->count; i++) {
		if (facts->list[i].process != process) {
			process = facts->list[i].process;
			still = stands_still(process);
			close_fd(&told.links);
			close_fd(&told.information);
			told.links = open_directory(process, "fd");
			told.information = open_directory(process, "fdinfo");
		}
		if (still)
			left += compare(&handle, &told, &facts->list[i]);
	}
	close_fd(&told.links);
	close_fd(&told.information);
	close_fd(&handle.process);
	return left;
}
