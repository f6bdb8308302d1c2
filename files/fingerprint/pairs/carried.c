/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/carried.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "pairs/pair.h"

static int add_unit(struct carried *carried, const char *name)
{
	size_t length = strlen(name);
	struct carried_unit *unit;

	if (length > UNIT_NAME_MAX || strchr(name, '/') || carried->count == CARRIED_UNITS_MAX)
		return -1;
	carried->units = take_more(carried->units, carried->count + 1, sizeof(*carried->units));
	unit = &carried->units[carried->count++];
	memset(unit, 0, sizeof(*unit));
	unit->name = take(length + 1);
	memcpy(unit->name, name, length);
	return 0;
}

static int add_process(struct carried *carried, struct carried_unit *unit, const char *word)
{
	uint64_t pid;

	if (parse_number(word, INT_MAX, &pid) || !pid || carried->processes_count == CARRIED_PROCESSES_MAX)
		return -1;
	APPEND(unit->processes, unit->processes_count, (pid_t)pid);
	carried->processes_count++;
	return 0;
}

static int add_socket(struct carried *carried, struct carried_unit *unit, const char *word)
{
	uint64_t inode;

	if (parse_number(word, UINT32_MAX, &inode) || !inode || carried->inodes_count == CARRIED_ENDS_MAX)
		return -1;
	APPEND(unit->inodes, unit->inodes_count, (uint32_t)inode);
	carried->inodes_count++;
	return 0;
}

static int take_line(struct carried *carried, char *line)
{
	struct words words;
	struct carried_unit *unit = carried->count ? &carried->units[carried->count - 1] : NULL;

	if (words_split(line, &words) || words.count != 2)
		return -1;
	if (!strcmp(words.word[0], "unit"))
		return add_unit(carried, words.word[1]);
	if (unit && !strcmp(words.word[0], "process"))
		return add_process(carried, unit, words.word[1]);
	return unit && !strcmp(words.word[0], "socket") ? add_socket(carried, unit, words.word[1]) : -1;
}

static int compare(const void *one, const void *other)
{
	uint32_t first = *(const uint32_t *)one, second = *(const uint32_t *)other;

	return (first > second) - (first < second);
}

int carried_read(struct carried *carried, FILE *file)
{
	char line[UNIT_NAME_MAX + 32], *end;
	size_t number = 0;

	memset(carried, 0, sizeof(*carried));
	while (fgets(line, sizeof(line), file)) {
		number++;
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (!end || take_line(carried, line))
			return fail("Line %zu of what is carried is not \"unit NAME\", \"process PID\" or \"socket INODE\".", number);
	}
	if (ferror(file))
		return fail_errno("What is carried cannot be read");
	for (size_t i = 0; i < carried->count; i++)
		if (carried->units[i].inodes_count)
			qsort(carried->units[i].inodes, carried->units[i].inodes_count, sizeof(uint32_t), compare);
	return 0;
}

void carried_free(struct carried *carried)
{
	for (size_t i = 0; i < carried->count; i++) {
		free(carried->units[i].name);
		free(carried->units[i].processes);
		free(carried->units[i].inodes);
	}
	free(carried->units);
	memset(carried, 0, sizeof(*carried));
}

bool carried_leads_out(const struct carried_unit *unit, uint32_t inode)
{
	return unit->inodes_count && bsearch(&inode, unit->inodes, unit->inodes_count, sizeof(inode), compare);
}

bool carried_has_process(const struct carried *carried, pid_t pid)
{
	for (size_t i = 0; i < carried->count; i++)
		for (size_t j = 0; j < carried->units[i].processes_count; j++)
			if (carried->units[i].processes[j] == pid)
				return true;
	return false;
}
