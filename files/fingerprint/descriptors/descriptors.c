/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "descriptors/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors/locks.h"
#include "descriptors/timers.h"
#include "descriptors/told.h"

/* Of fdinfo. */
#define LOCKS "lock"
/* How the facts of a timer begin. */
#define TIMER " kind=timerfd "
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

struct descriptor {
	const struct told_of *told;
	const char *number;
};

static int write_facts(FILE *file, const void *of)
{
	const struct descriptor *descriptor = of;

	return told_write(file, descriptor->told, descriptor->number);
}

/* The facts of a descriptor as text, to be freed. NULL, with `*code` as that of told_write(). */
static char *facts_of(const struct told_of *told, const char *number, int *code)
{
	return facts_text(write_facts, &(struct descriptor){ told, number }, code);
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
		if (text) {
			fprintf(file, "descriptor %d %s%s\n", process, entry->d_name, text);
			if (!strncmp(text, TIMER, strlen(TIMER)))
				timers_write(file, process, entry->d_name, information);
		} else if (code < 0) {
			result = -1;
		}
	}
	closedir(directory);
	return result;
}

int descriptors_take(struct facts *facts, struct words *words)
{
	return facts_take(facts, words, "descriptor");
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

/* Has the process take its record locks again that it lacks. */
static void set_locks(const struct told_of *told, const struct facts_line *line)
{
	const char *then = fact_value(line->words, line->count, LOCKS);
	char number[16];
	char *found = NULL;
	int code;

	if (!then)
		return;
	snprintf(number, sizeof(number), "%d", line->number);
	CLEANUP_FREE char *now = facts_of(told, number, &code);
	if (!now)
		return;
	found = strstr(now, " " LOCKS "=");
	if (found) {
		found += strlen(" " LOCKS "=");
		found[strcspn(found, " ")] = '\0';
	}
	locks_put_right(line->process, line->number, then, found);
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

/* Of one process, whose lines follow each other. */
static size_t put_process_right(const struct facts_line *lines, size_t count)
{
	pid_t process = lines->process;
	struct process_handle handle = { .process = -1 };
	CLEANUP_FD int links = open_directory(process, "fd");
	CLEANUP_FD int information = open_directory(process, "fdinfo");
	const struct told_of told = { links, information };
	size_t left = 0;

	/* Before all comparisons: a lock shows at each descriptor of its file, and not each of them may take it. */
	for (size_t i = 0; i < count; i++)
		set_locks(&told, &lines[i]);
	for (size_t i = 0; i < count; i++)
		left += compare(&handle, &told, &lines[i]);
	close_fd(&handle.process);
	return left;
}

size_t descriptors_put_right(const struct facts *facts)
{
	size_t left = 0;

	for (size_t first = 0, next; first < facts->count; first = next) {
		pid_t process = facts->list[first].process;

		for (next = first + 1; next < facts->count && facts->list[next].process == process; next++)
			;
		if (stands_still(process))
			left += put_process_right(&facts->list[first], next - first);
	}
	return left;
}
