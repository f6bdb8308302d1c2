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
/* CapInh, CapPrm, CapEff, CapBnd and CapAmb, in this order. */
#define CAPABILITIES "Cap"
enum { SETS = 5, SET_DIGITS = 16 };

struct credentials {
	bool no_new_privs, told;
	/* The sets as the kernel prints them, with commas between. */
	char capabilities[SETS * (SET_DIGITS + 1)];
	char *groups;
};

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

static void read_line(const char *line, struct credentials *credentials)
{
	size_t filled = strlen(credentials->capabilities);

	if (!strncmp(line, GROUPS, strlen(GROUPS)) && !credentials->groups)
		credentials->groups = as_word(line + strlen(GROUPS));
	if (!strncmp(line, NO_NEW_PRIVS, strlen(NO_NEW_PRIVS))) {
		credentials->no_new_privs = line[strlen(NO_NEW_PRIVS)] == '1';
		credentials->told = true;
	}
	if (!strncmp(line, CAPABILITIES, strlen(CAPABILITIES)) && strchr(line, '\t'))
		snprintf(credentials->capabilities + filled, sizeof(credentials->capabilities) - filled, "%s%.*s", filled ? "," : "",
			 SET_DIGITS, strchr(line, '\t') + 1);
}

/* 0: the groups have to be freed; 1: the thread has ended; -1 after saying why it cannot be read. */
static int read_thread(pid_t process, pid_t thread, struct credentials *credentials)
{
	char path[64], *line = NULL;
	bool has_ended = false, is_whole;
	size_t room = 0;
	FILE *status;

	*credentials = (struct credentials){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process, thread);
	status = fopen(path, "re");
	if (!status)
		return errno == ENOENT || errno == ESRCH ? 1 : fail_errno("%s cannot be read", path);
	while (getline(&line, &room, status) > 0) {
		if (!strncmp(line, STATE, strlen(STATE)))
			has_ended = strchr("ZX", line[strlen(STATE)]);
		read_line(line, credentials);
	}
	has_ended |= ferror(status) != 0; /* while it was read */
	free(line);
	fclose(status);
	is_whole = credentials->groups && credentials->told && strlen(credentials->capabilities) == sizeof(credentials->capabilities) - 1;
	if (!has_ended && is_whole)
		return 0;
	free(credentials->groups);
	return has_ended ? 1 : fail("%s does not tell of groups, capabilities and NoNewPrivs.", path);
}

static int record_thread(FILE *file, pid_t process, pid_t thread)
{
	struct credentials credentials;
	int code = read_thread(process, thread, &credentials);

	if (code)
		return code < 0 ? -1 : 0;
	fprintf(file, "task %d %d %d %s %s\n", process, thread, credentials.no_new_privs, credentials.groups,
		credentials.capabilities);
	free(credentials.groups);
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

/* Whether it has the form of `capabilities`. */
static bool are_sets(const char *word)
{
	for (int i = 0; i < SETS; i++, word += SET_DIGITS + 1)
		if (strspn(word, "0123456789abcdef") != SET_DIGITS || word[SET_DIGITS] != (i < SETS - 1 ? ',' : '\0'))
			return false;
	return true;
}

int credentials_take(struct credentials_found *found, struct words *words)
{
	struct credentials_line line = { 0 };
	uint64_t process, thread, no_new_privs;

	if (strcmp(words->word[0], "task"))
		return 1;
	if (words->count != 6 || parse_number(words->word[1], INT_MAX, &process) || !process ||
	    parse_number(words->word[2], INT_MAX, &thread) || !thread || parse_number(words->word[3], 1, &no_new_privs) ||
	    !are_groups(words->word[4]) || !are_sets(words->word[5]))
		return -1;
	line.process = (pid_t)process;
	line.thread = (pid_t)thread;
	line.no_new_privs = no_new_privs;
	line.groups = words->word[4];
	line.capabilities = words->word[5];
	APPEND(found->lines, found->count, line);
	return 0;
}

static size_t compare(const struct credentials_line *line)
{
	struct credentials now;
	size_t found = 0;

	if (read_thread(line->process, line->thread, &now)) {
		/* A process that runs may have ended it. */
		if (!stands_still(line->process))
			return 0;
		printf("process %d thread %d: it is not there\n", line->process, line->thread);
		return 1;
	}
	if (now.no_new_privs != line->no_new_privs) {
		printf("process %d thread %d: NoNewPrivs is %d, was %d\n", line->process, line->thread, now.no_new_privs,
		       line->no_new_privs);
		found++;
	}
	if (strcmp(now.groups, line->groups)) {
		printf("process %d thread %d: its supplementary groups are %s, were %s\n", line->process, line->thread, now.groups,
		       line->groups);
		found++;
	}
	if (strcmp(now.capabilities, line->capabilities)) {
		printf("process %d thread %d: its capabilities (inheritable, permitted, effective, bounding, ambient) are %s, were %s\n",
		       line->process, line->thread, now.capabilities, line->capabilities);
		found++;
	}
	free(now.groups);
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
