/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lines.h"
#include "pairs/keeper_file.h"
#include "pairs/make.h"
#include "pairs/pair.h"
#include "pairs/stage.h"

/* The same number on all architectures; the C libraries of older systems have no name for it. */
#define NUMBER_OF_CLOSE_RANGE 436

/* Two for each pair, and some for itself. */
static void allow_descriptors(size_t pairs)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < 2 * pairs + 64)
		limit.rlim_cur = limit.rlim_max = 2 * pairs + 64;
	/* If that is refused, a socket that cannot be opened says so. */
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int load(struct pairs *pairs, const char *directory)
{
	CLEANUP_FREE char *path = take(strlen(directory) + sizeof("/" PAIRS_FILE));
	CLEANUP_FREE char *text = NULL;
	size_t size;

	strcat(strcpy(path, directory), "/" PAIRS_FILE);
	text = lines_load(path, &size);
	return text ? pairs_parse(pairs, text, size, path) : -1;
}

static void write_keeper(const struct pairs *pairs, const struct made *made, uint64_t start, FILE *file)
{
	fprintf(file, KEEPER_HEAD "\nkeeper %d %llu\n", getpid(), (unsigned long long)start);
	for (size_t i = 0; i < 2 * pairs->count; i++) {
		const struct pair_end *end = &pairs->list[i / 2].ends[i % 2];

		for (size_t j = 0; j < end->units_count; j++)
			fprintf(file, "end %s %llu %d\n", end->units[j], (unsigned long long)end->inode, made[i / 2].sockets[i % 2]);
	}
}

static int tell(const struct pairs *pairs, const struct made *made, uint64_t start, int directory, const char *name)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -1;
	write_keeper(pairs, made, start, memory);
	return fclose(memory) ? -1 : replace_file(directory, name, text, size);
}

static int make_all(const char *directory, int place, const char *name)
{
	struct pairs pairs = { 0 };
	CLEANUP_FREE char *path = take(strlen(directory) + sizeof("/" PAIRS_DATA));
	CLEANUP_FD int data = open(strcat(strcpy(path, directory), "/" PAIRS_DATA), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const struct made *made;
	uint64_t start;
	int result = -1;

	if (data < 0)
		fail_errno("The queues of the unix connections cannot be read");
	else if (process_start(getpid(), &start))
		fail_errno("The start of this process cannot be read");
	else if (!load(&pairs, directory) && !stage_enter(directory)) {
		allow_descriptors(pairs.count);
		made = pairs_make(&pairs, data);
		result = !made ? -1 : tell(&pairs, made, start, place, name);
		if (made && result)
			fail_errno("The file %s of the unix connections cannot be written", name);
	}
	pairs_free(&pairs);
	return result;
}

static void wait_for_end(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	while (sigwaitinfo(&ends, NULL) < 0)
		;
}

/* Writes a byte when all is there and nothing else is open, closes the pipe, and holds the sockets. */
static void keep(const char *directory, int place, const char *name, int ready)
{
	sigset_t ends;
	int nothing;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	setsid();
	/* Others' data are in its sockets. */
	prctl(PR_SET_DUMPABLE, 0);
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0 || make_all(directory, place, name))
		_exit(EXIT_FAILED);
	for (int number = 0; number < 3; number++)
		dup2(nothing, number);
	close(place);
	if (write(ready, "", 1) != 1)
		_exit(EXIT_FAILED);
	close(ready);
	wait_for_end();
	_exit(EXIT_OK);
}

/* The directory of the path, and in *name what is behind it. -1 with errno. */
static int open_parent(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *parent = strdup(path);

	*name = slash ? slash + 1 : path;
	if (!parent || !**name) {
		errno = EINVAL;
		return -1;
	}
	parent[slash && slash != path ? slash - path : 1] = '\0';
	if (!slash)
		strcpy(parent, ".");
	return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int keeper_start(const char *directory, const char *file)
{
	const char *name;
	CLEANUP_FD int place = -1;
	int ready[2];
	pid_t child;
	char byte;

	/* What the caller has open, such as a lock, it must not hold as well. */
	syscall(NUMBER_OF_CLOSE_RANGE, 3, UINT_MAX, 0);
	place = open_parent(file, &name);
	if (place < 0 || pipe2(ready, O_CLOEXEC))
		return fail_errno("The directory of %s cannot be opened", file);
	child = fork();
	if (child < 0)
		return fail_errno("No process can be started that holds the unix connections");
	if (!child) {
		close(ready[0]);
		keep(directory, place, name, ready[1]);
	}
	close(ready[1]);
	/* The second read waits until the child has closed its end: the pipe is the last that it holds of ours. */
	if (read(ready[0], &byte, 1) == 1 && read(ready[0], &byte, 1) == 0) {
		close(ready[0]);
		return 0;
	}
	/* It has said why. */
	close(ready[0]);
	waitpid(child, NULL, 0);
	return -1;
}
