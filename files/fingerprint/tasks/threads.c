/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/threads.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/processes.h"
#include "tasks/whole.h"

#define STATE "State:\t"
#define SIGNALS_BLOCKED "SigBlk"
/* C libraries of older systems have no name for it. */
#define EPOLL_PWAIT2 441

/*
 * Left out of status are counters and sizes, processors and memory nodes (`affinity`, attributes.h), mitigations of the processor, which the
 * next kernel may have others of, and what the images must have for the restore to succeed: ids of processes and namespaces. So are signals that
 * wait: the images have those from before the freeze, a thread takes them on its way to its stop, and the freeze itself sends SIGCHLD to parents.
 */
static const struct fact_type types[] = {
	{ "Umask", FACT_MOVES },
	{ "Uid", FACT_MOVES },
	{ "Gid", FACT_MOVES },
	{ "Groups", FACT_STAYS },
	/*
	 * A restored tree is left stopped, by SIGSTOP: a parent gets SIGCHLD for it, and may stand at the beginning of its handler, which blocks
	 * more for its time. Where it is not told see has_own_mask().
	 */
	{ SIGNALS_BLOCKED, FACT_GROWS },
	{ "SigIgn", FACT_MOVES },
	{ "SigCgt", FACT_MOVES },
	{ "CapInh", FACT_STAYS },
	{ "CapPrm", FACT_STAYS },
	{ "CapEff", FACT_STAYS },
	{ "CapBnd", FACT_STAYS },
	{ "CapAmb", FACT_STAYS },
	{ "NoNewPrivs", FACT_STAYS },
	{ "Seccomp", FACT_STAYS },
	{ "Seccomp_filters", FACT_STAYS },
	/* Of other sources. */
	{ "scheduling", FACT_STAYS },
	{ "session", FACT_STAYS },
	{ "process-group", FACT_STAYS },
	{ "oom_score_adj", FACT_STAYS },
};
static const struct fact_types all = { types, sizeof(types) / sizeof(*types) };
/* So many are in status. */
enum { IN_STATUS = 15 };

/* struct sched_attr in its first size, which all kernels know. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Policy, flags, nice value and real-time priority. Of the flags only those that sched(7) has for the thread itself. */
static void write_scheduling(FILE *file, pid_t thread)
{
	struct scheduling found = { 0 };

	if (!syscall(SYS_sched_getattr, thread, &found, sizeof(found), 0))
		fprintf(file, " scheduling=%u,%u,%d,%u", found.policy, (unsigned)found.flags & 7, found.nice, found.priority);
}

static bool is_known(const char *line, size_t length)
{
	for (size_t i = 0; i < IN_STATUS; i++)
		if (!strncmp(types[i].name, line, length) && !types[i].name[length])
			return true;
	return false;
}

/* Whether a system call has set the thread's signal mask for its own time. The mask of the thread is then nowhere in /proc. */
static bool has_own_mask(pid_t thread)
{
	static const long calls[] = { SYS_rt_sigsuspend, SYS_pselect6, SYS_ppoll, SYS_epoll_pwait, SYS_io_pgetevents, EPOLL_PWAIT2 };
	char path[64], text[256];
	long call;

	snprintf(path, sizeof(path), "/proc/%d/syscall", thread);
	if (read_beginning(path, text, sizeof(text)) || sscanf(text, "%ld", &call) != 1)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

struct thread_of {
	pid_t process, thread;
};

/* Writes the facts of a thread. 1: it has ended; -1 after saying why it cannot be read. */
static int write_facts(FILE *file, const void *of)
{
	const struct thread_of *which = of;
	pid_t process = which->process, thread = which->thread;
	char path[64], *line = NULL;
	bool is_gone = false;
	size_t room = 0, count = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process, thread);
	status = fopen(path, "re");
	if (!status)
		return errno == ENOENT || errno == ESRCH ? 1 : fail_errno("%s cannot be read", path);
	while (getline(&line, &room, status) > 0) {
		char *colon = strchr(line, ':');

		if (!strncmp(line, STATE, strlen(STATE)))
			is_gone = strchr("ZX", line[strlen(STATE)]);
		if (!colon || !is_known(line, (size_t)(colon - line)))
			continue;
		*colon = '\0';
		count++;
		if (strcmp(line, SIGNALS_BLOCKED) || !has_own_mask(thread))
			fact_write(file, line, colon + 1);
	}
	is_gone |= ferror(status) != 0; /* while it was read */
	free(line);
	fclose(status);
	if (is_gone)
		return 1;
	if (count != IN_STATUS)
		return fail("%s tells %zu of the %d things that are compared.", path, count, IN_STATUS);
	write_scheduling(file, thread);
	if (thread == process)
		whole_write(file, process);
	return 0;
}

/* The facts of a thread as text, to be freed. NULL, with `*code` as that of write_facts(). */
static char *facts_of(pid_t process, pid_t thread, int *code)
{
	return facts_text(write_facts, &(struct thread_of){ process, thread }, code);
}

static int record_thread(FILE *file, pid_t process, pid_t thread)
{
	int code;
	CLEANUP_FREE char *text = facts_of(process, thread, &code);

	if (!text)
		return code < 0 ? -1 : 0;
	fprintf(file, "thread %d %d%s\n", process, thread, text);
	return 0;
}

int threads_record(FILE *file, pid_t process)
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

int threads_take(struct facts *facts, struct words *words)
{
	return facts_take(facts, words, "thread");
}

static size_t put_right(const struct facts_line *line, bool still)
{
	char where[64];
	int code;

	if (still && line->number == line->process)
		whole_put_right(line);
	CLEANUP_FREE char *now = facts_of(line->process, line->number, &code);
	snprintf(where, sizeof(where), "process %d thread %d", line->process, line->number);
	if (now)
		return facts_compare(line, now, &all, still, where);
	/* A process that runs may have ended it. */
	if (!still)
		return 0;
	printf("%s: it is not there\n", where);
	return 1;
}

size_t threads_put_right(const struct facts *facts)
{
	pid_t process = 0;
	bool still = false;
	size_t left = 0;

	for (size_t i = 0; i < facts->count; i++) {
		if (facts->list[i].process != process) {
			process = facts->list[i].process;
			still = stands_still(process);
		}
		left += put_right(&facts->list[i], still);
	}
	return left;
}
