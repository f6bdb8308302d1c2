/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/credentials.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/processes.h"

#define GROUPS "Groups:\t"
#define NO_NEW_PRIVS "NoNewPrivs:\t"
#define STATE "State:\t"

/* "4 24 27 \n", as the kernel sorts and prints them → "4,24,27". */
static char *as_word(const char *list)
{
	size_t length = strlen(list);
	char *word = take(length + 2);

	memcpy(word, list, length);
	while (length && strchr(" \n", word[length - 1]))
		word[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (word[i] == ' ')
			word[i] = ',';
	if (!length)
		*word = '-';
	return word;
}

/* 0: *groups has to be freed; 1: the thread has ended; -1 after saying why it cannot be read. */
static int read_thread(pid_t process, pid_t thread, bool *no_new_privs, char **groups)
{
	char path[64], *line = NULL, *list = NULL;
	bool has_ended = false, told = false;
	size_t room = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process, thread);
	status = fopen(path, "re");
	if (!status)
		return errno == ENOENT || errno == ESRCH ? 1 : fail_errno("%s cannot be read", path);
	while (getline(&line, &room, status) > 0) {
		if (!strncmp(line, STATE, strlen(STATE)))
			has_ended = strchr("ZX", line[strlen(STATE)]);
		if (!strncmp(line, GROUPS, strlen(GROUPS)) && !list)
			list = as_word(line + strlen(GROUPS));
		if (!strncmp(line, NO_NEW_PRIVS, strlen(NO_NEW_PRIVS))) {
			*no_new_privs = line[strlen(NO_NEW_PRIVS)] == '1';
			told = true;
		}
	}
	has_ended |= ferror(status) != 0; /* while it was read */
	free(line);
	fclose(status);
	*groups = list;
	if (!has_ended && list && told)
		return 0;
	free(list);
	return has_ended ? 1 : fail("%s does not tell of groups and NoNewPrivs.", path);
}

static int record_thread(FILE *file, pid_t process, pid_t thread)
{
	bool no_new_privs;
	char *groups;
	int code = read_thread(process, thread, &no_new_privs, &groups);

	if (code)
		return code < 0 ? -1 : 0;
	fprintf(file, "task %d %d %d %s\n", process, thread, no_new_privs, groups);
	free(groups);
	return 0;
}

int credentials_record(FILE *file, pid_t process)
{
	struct dirent *entry;
	uint64_t thread;
	char path[64];
	int result = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT || errno == ESRCH ? 0 : fail_errno("%s cannot be read", path);
	while (!result && (entry = readdir(directory)))
		if (!parse_number(entry->d_name, INT_MAX, &thread))
			result = record_thread(file, process, (pid_t)thread);
	closedir(directory);
	return result;
}

/* Whether it is "-", or numbers with commas between. */
static bool are_groups(const char *word)
{
	if (!strcmp(word, "-"))
		return true;
	for (;; word++) {
		size_t digits = strspn(word, "0123456789");

		if (!digits || digits > sizeof("4294967295") - 1)
			return false;
		word += digits;
		if (*word != ',')
			return !*word;
	}
}

int credentials_take(struct credentials_found *found, struct words *words)
{
	struct credentials_line line = { 0 };
	uint64_t process, thread, no_new_privs;

	if (strcmp(words->word[0], "task"))
		return 1;
	if (words->count != 5 || parse_number(words->word[1], INT_MAX, &process) || !process ||
	    parse_number(words->word[2], INT_MAX, &thread) || !thread || parse_number(words->word[3], 1, &no_new_privs) ||
	    !are_groups(words->word[4]))
		return -1;
	line.process = (pid_t)process;
	line.thread = (pid_t)thread;
	line.no_new_privs = no_new_privs;
	line.groups = words->word[4];
	APPEND(found->lines, found->count, line);
	return 0;
}

static size_t compare(const struct credentials_line *line)
{
	bool no_new_privs;
	size_t found = 0;
	char *groups;

	if (read_thread(line->process, line->thread, &no_new_privs, &groups)) {
		/* A process that runs may have ended it. */
		if (!stands_still(line->process))
			return 0;
		printf("process %d thread %d: it is not there\n", line->process, line->thread);
		return 1;
	}
	if (no_new_privs != line->no_new_privs) {
		printf("process %d thread %d: NoNewPrivs is %d, was %d\n", line->process, line->thread, no_new_privs,
		       line->no_new_privs);
		found++;
	}
	if (strcmp(groups, line->groups)) {
		printf("process %d thread %d: its supplementary groups are %s, were %s\n", line->process, line->thread, groups,
		       line->groups);
		found++;
	}
	free(groups);
	return found;
}

size_t credentials_compare(const struct credentials_found *found)
{
	size_t differences = 0;

	for (size_t i = 0; i < found->count; i++)
		differences += compare(&found->lines[i]);
	return differences;
}

void credentials_free(struct credentials_found *found)
{
	free(found->lines);
}
