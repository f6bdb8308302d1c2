/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/attributes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/processes.h"
#include "tasks/inject.h"
#include "tasks/keys.h"
#include "tasks/landlock.h"
#include "tasks/locking.h"
#include "tasks/mappings.h"
#include "tasks/outside.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif

/*
 * How an attribute is asked for, if the result tells it, and set: by prctl(2), or by a system call of its own that takes a command or the
 * value.
 */
static const struct attribute {
	const char *name;
	long call;
	uint64_t get, set;
	/* What comes before the value when it is set. */
	uint64_t first;
	bool has_first;
	int64_t usual;
	uint64_t most;
} attributes[] = {
	/* The checkpoint has it (plugins/module_utils/_environment/attributes.py): it is asked for by a pointer only. */
	{ .name = "pdeathsig", .set = PR_SET_PDEATHSIG, .most = 64 },
	/* Since 6.3: no memory that is writable and executable. It cannot be taken back. */
	{ .name = "mdwe", .get = PR_GET_MDWE, .set = PR_SET_MDWE, .most = 3 },
	/* Whether a process is killed early by a fault of its memory. */
	{ .name = "mce-kill",
	  .get = PR_MCE_KILL_GET,
	  .set = PR_MCE_KILL,
	  .first = PR_MCE_KILL_SET,
	  .has_first = true,
	  .usual = PR_MCE_KILL_DEFAULT,
	  .most = PR_MCE_KILL_DEFAULT },
	/* Since 6.4: equal pages are merged (MemoryKSM=). */
	{ .name = "memory-merge", .get = PR_GET_MEMORY_MERGE, .set = PR_SET_MEMORY_MERGE, .most = 1 },
	/* A daemon below a file system: its memory allocations do not wait for it. Only told with CAP_SYS_RESOURCE. */
	{ .name = "io-flusher", .get = PR_GET_IO_FLUSHER, .set = PR_SET_IO_FLUSHER, .most = 1 },
	/* These three the checkpoint has, from a CRIU that forgets them; of the ambient capabilities (AmbientCapabilities=) one each. */
	{ .name = "ambient", .set = PR_CAP_AMBIENT, .first = PR_CAP_AMBIENT_RAISE, .has_first = true, .most = 63 },
	{ .name = "no-new-privs", .set = PR_SET_NO_NEW_PRIVS, .most = 1 },
	{ .name = "thp-disable", .set = PR_SET_THP_DISABLE, .most = 1 },
	/* membarrier(2): each of these commands only works for who has registered for it, and then answers 0. From a CRIU that forgets. */
	{ .name = "membarrier",
	  .call = SYS_membarrier,
	  .get = MEMBARRIER_CMD_PRIVATE_EXPEDITED,
	  .set = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
	  .usual = -1 },
	{ .name = "membarrier-sync-core",
	  .call = SYS_membarrier,
	  .get = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
	  .set = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
	  .usual = -1 },
	{ .name = "membarrier-rseq",
	  .call = SYS_membarrier,
	  .get = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
	  .set = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ,
	  .usual = -1 },
	/* mlockall(2): asked for in locking.c. */
	{ .name = LOCKING, .call = SYS_mlockall, .most = MCL_FUTURE | MCL_ONFAULT },
	/* personality(2), such as without address space randomization for what it starts. CRIU records it, and no more. */
	{ .name = "personality", .call = SYS_personality, .get = 0xffffffff, .most = 0xfffffffe },
};

#define ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

static int ask(struct injection *injection, const struct attribute *attribute, FILE *into)
{
	const uint64_t arguments[6] = { attribute->get };
	int64_t value;

	if (inject_call(injection, attribute->call ? attribute->call : SYS_prctl, arguments, &value))
		return -1;
	/* Negative: not known to this kernel, and so nothing that the process could have. */
	if (value >= 0 && value != attribute->usual)
		fprintf(into, "%d %s %" PRId64 "\n", injection->thread, attribute->name, value);
	return 0;
}

static int ask_process(struct landlock *landlock, pid_t process, FILE *into)
{
	struct injection injection;
	int result = 0;

	if (inject_begin(&injection, process))
		return -1;
	for (size_t i = 0; i < ATTRIBUTES && !result; i++)
		if (attributes[i].get)
			result = ask(&injection, &attributes[i], into);
	if (!result)
		result = locking_ask(&injection, into);
	if (!result)
		result = keys_ask(&injection, into);
	if (!result)
		result = landlock_ask(landlock, &injection, into);
	if (inject_end(&injection))
		result = -1;
	return result;
}

static int ask_processes(struct landlock *landlock, int count, char **processes, FILE *into)
{
	uint64_t process;

	for (int i = 0; i < count; i++) {
		if (parse_number(processes[i], INT_MAX, &process) || !process)
			return fail("'%s' is no process id.", processes[i]);
		if (ask_process(landlock, (pid_t)process, into) && !has_ended((pid_t)process))
			return -1;
	}
	return 0;
}

int attributes_ask(int count, char **processes, FILE *into)
{
	struct landlock landlock;
	int result;

	landlock_begin(&landlock);
	result = ask_processes(&landlock, count, processes, into);
	landlock_end(&landlock);
	if (result)
		return -1;
	return fflush(into) ? fail("The answers cannot be written: %s.", strerror(errno)) : 0;
}

static const struct attribute *named(const char *name)
{
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (name && !strcmp(name, attributes[i].name))
			return &attributes[i];
	return NULL;
}

static int set_value(pid_t thread, const struct attribute *attribute, uint64_t value)
{
	uint64_t arguments[6] = { attribute->set, value };
	struct injection injection;
	int64_t said = 0;
	int result;

	if (attribute->call) {
		arguments[0] = attribute->set ? attribute->set : value;
	} else if (attribute->has_first) {
		arguments[1] = attribute->first;
		arguments[2] = value;
	}
	if (inject_begin(&injection, thread))
		return -1;
	result = inject_call(&injection, attribute->call ? attribute->call : SYS_prctl, arguments, &said);
	if (inject_end(&injection) || result)
		return -1;
	if (said < 0)
		return fail("Thread %d cannot get its %s of %" PRIu64 " back: %s.", thread, attribute->name, value,
			    strerror((int)-said));
	return 0;
}

/* Sets what is no plain value that the thread sets of itself. */
static int set_other(pid_t thread, const char *name, const char *value)
{
	return mappings_know(name) ? mappings_set(thread, name, value) : outside_set(thread, name, value);
}

static int set_line(char *line)
{
	const char *thread = strsep(&line, " "), *name = strsep(&line, " "), *value = strsep(&line, "\n");
	const struct attribute *attribute = named(name);
	uint64_t id, number;

	if (!value || !line || *line || parse_number(thread, INT_MAX, &id) || !id ||
	    !(outside_knows(name) || mappings_know(name) || (attribute && !parse_number(value, attribute->most, &number))))
		return fail("A line of the attributes is broken, expected THREAD NAME VALUE.");
	if (!attribute)
		return set_other((pid_t)id, name, value) && !has_ended((pid_t)id) ? -1 : 0;
	/* One that has ended needs nothing any more; whether it should have is for others to say. */
	return set_value((pid_t)id, attribute, number) && !has_ended((pid_t)id) ? -1 : 0;
}

int attributes_set(const char *path)
{
	FILE *list = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	if (!list)
		return fail("The attributes %s cannot be read: %s.", path, strerror(errno));
	while (getline(&line, &room, list) > 0)
		if (set_line(line))
			result = -1;
	if (ferror(list))
		result = fail("The attributes %s cannot be read: %s.", path, strerror(errno));
	free(line);
	fclose(list);
	return result;
}
