/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff/revert.h"
#include "base/processes.h"
#include "base/lines.h"
#include "descriptors/descriptors.h"
#include "parking/parking.h"
#include "pairs/keeper.h"
#include "pairs/take.h"
#include "put_right.h"
#include "sockets/record.h"
#include "tasks/attributes.h"
#include "tasks/threads.h"

static const char usage[] =
	"Usage:\n"
	"  fingerprint record PID... >FILE    what can be observed of these processes, which stand still\n"
	"  fingerprint put-right FILE         compare the restored processes, set what differs, and print what is left (exit code 3)\n"
	"  fingerprint revert-backoff FILE... have the peers of these connections send again at once what was not acknowledged\n"
	"  fingerprint near PID... >LIST      the near peers of these processes\n"
	"  fingerprint park LIST >FILE        have them send nothing, and list who was told; the processes stand still\n"
	"  fingerprint go-on FILE             have those go on that were told, where there is no outage\n"
	"  fingerprint unpark FILE...         have the peers of these connections go on\n"
	"  fingerprint ask PID...             what only these processes can tell of themselves: lines THREAD NAME VALUE\n"
	"  fingerprint set FILE               have them set what such lines say\n"
	"  fingerprint take-pairs DIR <LIST   the unix connections between these units, whose processes stand still\n"
	"  fingerprint keep-pairs DIR KEEPER  make them anew, and hold them in the background; KEEPER is written\n"
	"  fingerprint join-pairs KEEPER UNIT COMMAND...  run criu(8) with the ends of the unit\n"
	"  fingerprint end-pairs KEEPER       let go of what was not taken\n";

static int record(char **pids, size_t count)
{
	struct sockets_recorder sockets;
	uint64_t pid;
	int result = 0;

	puts(LINES_HEAD);
	sockets_record_begin(&sockets, stdout);
	for (size_t i = 0; i < count && !result; i++) {
		if (parse_number(pids[i], INT_MAX, &pid) || !pid)
			result = fail("'%s' is no process id.", pids[i]);
		else if (threads_record(stdout, (pid_t)pid) || descriptors_record(stdout, (pid_t)pid) ||
			 sockets_record(&sockets, (pid_t)pid))
			result = -1;
	}
	sockets_record_end(&sockets);
	if (fflush(stdout) || ferror(stdout))
		result = fail("The fingerprint cannot be written: %s", strerror(errno));
	return result ? EXIT_FAILED : EXIT_OK;
}

/* NULL after saying why not. It points into `text`, which is to be freed in any case. */
static struct fingerprint *load(const char *path, char **text)
{
	size_t size;

	*text = lines_load(path, &size);
	return *text ? fingerprint_parse(*text, size, path) : NULL;
}

static int put_right(const char *path)
{
	CLEANUP_FREE char *text = NULL;
	struct fingerprint *found = load(path, &text);
	size_t left;

	if (!found)
		return EXIT_FAILED;
	left = fingerprint_put_right(found);
	fingerprint_free(found);
	return left ? EXIT_DIFFERENT : EXIT_OK;
}

/* Tells the peers of the connections in these records. */
static int tell(const struct telling *telling, char **paths, size_t count)
{
	struct connections connections = { 0 };
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *text = NULL;
		struct fingerprint *found = load(paths[i], &text);

		/* The others are told in any case. */
		if (!found) {
			result = -1;
			continue;
		}
		connections_add(&connections, fingerprint_sockets(found));
		fingerprint_free(found);
	}
	if (connections_tell(&connections, telling))
		result = -1;
	connections_free(&connections);
	return result ? EXIT_FAILED : EXIT_OK;
}

static int take_pairs(const char *directory)
{
	int result = pairs_take(directory, stdin, stdout);

	if (!result && (fflush(stdout) || ferror(stdout)))
		result = fail_errno("The connections that were taken cannot be written");
	return result;
}

/* Whether it is this command, with these many words behind it. */
static bool is_command(int argc, char **argv, const char *name, int least, int most)
{
	return argc >= 2 && !strcmp(argv[1], name) && argc - 2 >= least && argc - 2 <= most;
}

/* The commands of connections between units; says the usage where it is none of these either. */
static int run_pairs(int argc, char **argv)
{
	if (is_command(argc, argv, "take-pairs", 1, 1))
		return take_pairs(argv[2]) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "keep-pairs", 2, 2))
		return keeper_start(argv[2], argv[3]) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "join-pairs", 3, INT_MAX))
		return keeper_join(argv[2], argv[3], argv + 4) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "end-pairs", 1, 1))
		return keeper_end(argv[2]) ? EXIT_FAILED : EXIT_OK;
	fputs(usage, stderr);
	return EXIT_USAGE;
}

/* The commands for peers that wait; those of `run_pairs` where it is none of these. */
static int run_parking(int argc, char **argv)
{
	if (is_command(argc, argv, "near", 1, INT_MAX))
		return parking_list(stdout, argv + 2, (size_t)argc - 2) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "park", 1, 1))
		return parking_tell(argv[2], stdout) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "go-on", 1, 1))
		return parking_go_on(argv[2]) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "unpark", 1, INT_MAX))
		return tell(&parking_open, argv + 2, (size_t)argc - 2);
	return run_pairs(argc, argv);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (is_command(argc, argv, "record", 1, INT_MAX))
		return record(argv + 2, (size_t)argc - 2);
	if (is_command(argc, argv, "put-right", 1, 1))
		return put_right(argv[2]);
	if (is_command(argc, argv, "revert-backoff", 1, INT_MAX))
		return tell(&backoff_revert, argv + 2, (size_t)argc - 2);
	if (is_command(argc, argv, "ask", 1, INT_MAX))
		return attributes_ask(argc - 2, argv + 2, stdout) ? EXIT_FAILED : EXIT_OK;
	if (is_command(argc, argv, "set", 1, 1))
		return attributes_set(argv[2]) ? EXIT_FAILED : EXIT_OK;
	return run_parking(argc, argv);
}
