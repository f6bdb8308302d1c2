/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/whole.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/processes.h"

/* CRIU does not set 0, so a process has that of the one that has restored it. */
#define OOM_SCORE_ADJ "oom_score_adj"

static const struct {
	const char *name;
	__rlimit_resource_t resource;
} limits[] = {
	{ "RLIMIT_AS", RLIMIT_AS },
	{ "RLIMIT_CORE", RLIMIT_CORE },
	{ "RLIMIT_CPU", RLIMIT_CPU },
	{ "RLIMIT_DATA", RLIMIT_DATA },
	{ "RLIMIT_FSIZE", RLIMIT_FSIZE },
	{ "RLIMIT_LOCKS", RLIMIT_LOCKS },
	{ "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK },
	{ "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE },
	{ "RLIMIT_NICE", RLIMIT_NICE },
	{ "RLIMIT_NOFILE", RLIMIT_NOFILE },
	{ "RLIMIT_NPROC", RLIMIT_NPROC },
	{ "RLIMIT_RSS", RLIMIT_RSS },
	{ "RLIMIT_RTPRIO", RLIMIT_RTPRIO },
	{ "RLIMIT_RTTIME", RLIMIT_RTTIME },
	{ "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING },
	{ "RLIMIT_STACK", RLIMIT_STACK },
};

/* No limit is -1. */
static void write_limits(FILE *file, pid_t process)
{
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (!prlimit(process, limits[i].resource, NULL, &limit))
			fprintf(file, " %s=%" PRId64 ":%" PRId64, limits[i].name, (int64_t)limit.rlim_cur, (int64_t)limit.rlim_max);
}

/* A whole file of the process in /proc, to be freed; NULL if there is none. */
static char *read_file(pid_t process, const char *name)
{
	char path[64], *text = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", process, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	if (getdelim(&text, &room, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

static void write_file(FILE *file, pid_t process, const char *name)
{
	CLEANUP_FREE char *text = read_file(process, name);

	if (text)
		fact_write(file, name, text);
}

/* proc_pid_stat(5): behind the name, which may have any characters, come state, parent, process group and session. */
static void write_session(FILE *file, pid_t process)
{
	CLEANUP_FREE char *text = read_file(process, "stat");
	char *end = text ? strrchr(text, ')') : NULL;
	int group, session;

	if (end && sscanf(end, ") %*c %*d %d %d", &group, &session) == 2)
		fprintf(file, " process-group=%d session=%d", group, session);
}

/* An application has chosen it. */
static void write_name(FILE *file, pid_t process)
{
	CLEANUP_FREE char *text = read_file(process, "comm");

	if (!text)
		return;
	fputs(" comm=", file);
	value_write(file, text, strlen(text));
}

void whole_write(FILE *file, pid_t process)
{
	write_session(file, process);
	write_name(file, process);
	write_file(file, process, OOM_SCORE_ADJ);
	/* Those of timer_create(2). */
	write_file(file, process, "timers");
	write_limits(file, process);
}

void whole_put_right(const struct facts_line *line)
{
	const char *then = fact_value(line->words, line->count, OOM_SCORE_ADJ);
	char path[64];

	if (!then)
		return;
	snprintf(path, sizeof(path), "/proc/%d/" OOM_SCORE_ADJ, line->process);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* The comparison tells where that fails. */
	if (fd >= 0)
		(void)!write(fd, then, strlen(then));
}
