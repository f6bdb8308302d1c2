/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `environment`: puts in place, in a boot that restores applications, what they had around them before, and tells whether their files are
 * still the ones that their memory belongs to.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply.h"
#include "clock.h"
#include "common/base.h"
#include "first.h"
#include "hold.h"
#include "ipc.h"
#include "note_files.h"
#include "same_files.h"
#include "groups.h"
#include "session.h"
#include "track.h"

static const char usage[] = "usage: environment apply [--only KIND]... [--run DIR] [--root DIR | --view DIR] PLAN...\n"
			    "  Carries out the steps of each plan, whose files' contents are in the folder contents beside it.\n"
			    "  --only KIND  steps of this kind: clock, sysctl, mount, directory, file, fifo, symlink, hardlink, xattr,\n"
			    "               private, segment, memory, semaphores, queue, settle\n"
			    "  --run DIR    where failures are noted (/run/kup)\n"
			    "  --root DIR   put everything below this directory, for tests\n"
			    "  --view DIR   the root directory of a unit with mounts of its own: only in directories that nobody else sees\n"
			    "  Exit codes: 1 the node lacks what it needs, 3 a unit does\n"
			    "       environment forget PLAN\n"
			    "  Removes the System V objects of the plan's steps settle: their unit starts fresh.\n"
			    "       environment note-files DIR [--unit UNIT [--bound POINT DIRECTORY]... PID...]...\n"
			    "  Writes for each unit, whose processes stand still, the list DIR/files-UNIT of the files that it writes or maps.\n"
			    "  --bound POINT DIRECTORY  the unit sees the node's DIRECTORY at POINT\n"
			    "       environment same-files [--images DIR] LIST\n"
			    "  Compares the files of a list with those of now.\n"
			    "  --images DIR  of a unit that has not run since: what was appended is from another program\n"
			    "  Exit codes: 1 the list is broken, 3 a file differs\n"
			    "       environment clock [WORD]...\n"
			    "  Writes the words of a step clock; with words of before, by how many nanoseconds the time of day is behind.\n"
			    "       environment hold FILE GROUP...\n"
			    "  Leaves a process in the namespaces that it is started in, in the first control group that there is, and\n"
			    "  writes its id to FILE.\n"
			    "       environment track LIST\n"
			    "  Sends each netlink message of the list to the kernel's connection tracking.\n"
			    "       environment in-session ID COMMAND [WORD]...\n"
			    "  Runs the command as the leader of a session and process group with this id, and ends with its exit code.\n"
			    "       environment without-groups COMMAND [WORD]...\n"
			    "  Becomes the command, without supplementary groups.\n"
			    "As process 1 it becomes /sbin/init, which finds no libbpf where the state of the updates has an empty one.\n";

static enum outcome worse(enum outcome a, enum outcome b)
{
	return a == NODE_LACKS || b == ALL_DONE ? a : b;
}

static enum outcome apply_file(const char *path, int root, bool is_view, unsigned int kinds, int run)
{
	struct plan plan;
	char folder[4096];
	enum outcome outcome = NODE_LACKS;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder)) {
		fail("the name of the plan is too long");
		return outcome;
	}
	CLEANUP_FD int beside = open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Not there if no plan has a file: -1, which no step opens anything in. */
	CLEANUP_FD int contents = openat(beside, "contents", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct place place = { .root = root, .contents = contents, .view = is_view ? &plan : NULL };

	if (!plan_read(&plan, path)) {
		/* First, and alone: nothing may be put into a directory that turns out to be the node's. */
		outcome = is_view ? apply(&plan, &place, 1u << PRIVATE, run) : ALL_DONE;
		if (outcome == ALL_DONE)
			outcome = apply(&plan, &place, is_view ? kinds & ~(1u << PRIVATE) : kinds, run);
	}
	plan_free(&plan);
	return outcome;
}

static int run_apply(int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'o' },
		{ "run", required_argument, NULL, 'r' },
		{ "root", required_argument, NULL, 'R' },
		{ "view", required_argument, NULL, 'v' },
		{ 0 },
	};
	const char *run_path = "/run/kup", *root_path = "/";
	enum outcome outcome = ALL_DONE;
	unsigned int kinds = 0;
	bool is_view = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'o' && kind_named(optarg) < KINDS)
			kinds |= 1u << kind_named(optarg);
		else if (option == 'r')
			run_path = optarg;
		else if (option == 'R' || option == 'v') {
			root_path = optarg;
			is_view = option == 'v';
		}
		else
			return EXIT_USAGE;
	}
	if (optind == argc)
		return EXIT_USAGE;
	CLEANUP_FD int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int run = open(run_path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0 || run < 0) {
		fail_errno("%s cannot be opened", root < 0 ? root_path : run_path);
		return NODE_LACKS;
	}
	umask(0);
	for (int i = optind; i < argc; i++)
		outcome = worse(outcome, apply_file(argv[i], root, is_view, kinds ? kinds : ~0u, run));
	return (int)outcome;
}

static int run_forget(const char *path)
{
	struct plan plan;
	int code = plan_read(&plan, path) ? EXIT_FAILED : EXIT_OK;

	/* What is not there any more need not be removed. */
	for (size_t i = 0; !code && i < plan.count; i++) {
		const struct step *step = &plan.steps[i];

		if (step->kind != IPC_SETTLE || !ipc_forget(step) || errno == EINVAL || errno == EIDRM)
			continue;
		fail_errno("the System V %s %s cannot be removed", step->words[0].text, step->object);
		code = EXIT_FAILED;
	}
	plan_free(&plan);
	return code;
}

static int run_same_files(int argc, char **argv)
{
	if (argc == 2)
		return (int)same_files(argv[1], NULL);
	return argc == 4 && !strcmp(argv[1], "--images") ? (int)same_files(argv[3], argv[2]) : EXIT_USAGE;
}

static int run_session(const char *word, char **argv)
{
	uint64_t session;

	if (parse_number(word, INT_MAX, &session) || !session) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	int code = run_in_session((pid_t)session, argv);

	return code < 0 ? EXIT_FAILED : code;
}

static int run_clock(int argc, char **argv)
{
	if (argc && argc != THEN_WORDS)
		return EXIT_USAGE;
	return (argc ? clock_compare(argv, stdout) : clock_note(stdout)) ? EXIT_FAILED : EXIT_OK;
}

/* The exit code of a verb with one word, EXIT_USAGE if there is none of this name. */
static int run_on(const char *verb, const char *path)
{
	if (!strcmp(verb, "forget"))
		return run_forget(path);
	if (!strcmp(verb, "track"))
		return track(path) ? EXIT_FAILED : EXIT_OK;
	return EXIT_USAGE;
}

/* The exit code of the verb argv[1], EXIT_USAGE if there is none of this name with so many words. */
static int run_verb(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "apply"))
		return run_apply(argc - 1, argv + 1);
	if (argc > 2 && !strcmp(verb, "note-files"))
		return note_files(argc - 2, argv + 2) ? EXIT_FAILED : EXIT_OK;
	if (argc > 2 && !strcmp(verb, "same-files"))
		return run_same_files(argc - 1, argv + 1);
	if (!strcmp(verb, "clock"))
		return run_clock(argc - 2, argv + 2);
	if (argc == 3)
		return run_on(verb, argv[2]);
	return argc > 3 && !strcmp(verb, "hold") ? (int)(hold(argv[2], argv + 3) ? NODE_LACKS : ALL_DONE) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	/* A kernel gives its first process all words that it does not know itself. */
	if (getpid() == 1) {
		become_init(argv);
		return EXIT_FAILED;
	}
	if (argc > 2 && !strcmp(argv[1], "without-groups")) {
		become_without_groups(argv + 2);
		return EXIT_FAILED;
	}
	/* Its exit code is another program's. */
	if (argc > 3 && !strcmp(argv[1], "in-session"))
		return run_session(argv[2], argv + 3);
	int code = run_verb(argc, argv);

	if (code == EXIT_USAGE)
		fputs(usage, stderr);
	return code;
}
