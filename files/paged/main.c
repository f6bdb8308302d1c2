/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "bind.h"
#include "common.h"
#include "device.h"
#include "keep.h"
#include "serve.h"
#include "store.h"

static const char usage[] =
	"Usage:\n"
	"  paged store --store DIR --socket-fd N [--first]                      one pre-dump round of CRIU\n"
	"  paged store --store DIR --socket-fd N [--first] --last --images-dir DIR   its last dump\n"
	"  paged serve --store DIR | --frames --images-dir DIR --socket PATH --journal FILE [--after FILE]\n"
	"                                                          restore on demand, and when FILE is there all the rest\n"
	"  paged begin --keep-out START-END [--keep-out ...]       pages stay in memory: before the dump\n"
	"  paged keep --images-dir DIR --socket-fd N [--lazy] [--clear-soft-dirty]   the dump\n"
	"  paged layout | drop                                     after it, or nothing of it\n"
	"  paged bind --images-dir DIR                             the restored tree stands still\n"
	"  paged seal                                              it is about to run: no other kernel takes the frames now\n"
	"  paged hand-over                                         it runs, and gets its pages by serve --frames\n"
	"  paged release | abandon | rearm | status                it has all; it never will; another kernel is to try\n";

enum { OPTION_STORE = 1, OPTION_IMAGES, OPTION_SOCKET_FD, OPTION_FIRST, OPTION_LAST, OPTION_SOCKET, OPTION_JOURNAL, OPTION_AFTER,
       OPTION_KEEP_OUT, OPTION_FRAMES, OPTION_LAZY, OPTION_CLEAR_SOFT_DIRTY };

static const struct option long_options[] = {
	{ "store", required_argument, NULL, OPTION_STORE },
	{ "images-dir", required_argument, NULL, OPTION_IMAGES },
	{ "socket-fd", required_argument, NULL, OPTION_SOCKET_FD },
	{ "first", no_argument, NULL, OPTION_FIRST },
	{ "last", no_argument, NULL, OPTION_LAST },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "journal", required_argument, NULL, OPTION_JOURNAL },
	{ "after", required_argument, NULL, OPTION_AFTER },
	{ "keep-out", required_argument, NULL, OPTION_KEEP_OUT },
	{ "frames", no_argument, NULL, OPTION_FRAMES },
	{ "lazy", no_argument, NULL, OPTION_LAZY },
	{ "clear-soft-dirty", no_argument, NULL, OPTION_CLEAR_SOFT_DIRTY },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	struct store_options store;
	struct serve_options serve;
	const char *keep_out[KUP_PPP_KEEP_OUT_MAX];
	size_t keep_outs;
	bool frames, lazy, clear_soft_dirty;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
	char *end;
	int option;

	arguments->store.socket = -1;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_STORE:
			arguments->store.store = arguments->serve.store = optarg;
			break;
		case OPTION_IMAGES:
			arguments->store.images = arguments->serve.images = optarg;
			break;
		case OPTION_SOCKET_FD: {
			long number = strtol(optarg, &end, 10);

			if (end == optarg || *end || number < 0 || number > INT_MAX)
				return fail("--socket-fd is '%s', expected the number of an inherited descriptor", optarg);
			arguments->store.socket = (int)number;
			break;
		}
		case OPTION_FIRST:
			arguments->store.first = true;
			break;
		case OPTION_LAST:
			arguments->store.last = true;
			break;
		case OPTION_SOCKET:
			arguments->serve.socket = optarg;
			break;
		case OPTION_JOURNAL:
			arguments->serve.journal = optarg;
			break;
		case OPTION_AFTER:
			arguments->serve.after = optarg;
			break;
		case OPTION_KEEP_OUT:
			if (arguments->keep_outs == KUP_PPP_KEEP_OUT_MAX)
				return fail("--keep-out is there more than %d times", KUP_PPP_KEEP_OUT_MAX);
			arguments->keep_out[arguments->keep_outs++] = optarg;
			break;
		case OPTION_FRAMES:
			arguments->frames = true;
			break;
		case OPTION_LAZY:
			arguments->lazy = true;
			break;
		case OPTION_CLEAR_SOFT_DIRTY:
			arguments->clear_soft_dirty = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : fail("'%s' is not understood", argv[optind]);
}

/* Those that need no option. */
static const char *const device_faces[] = { "layout", "drop", "seal", "hand-over", "release", "abandon", "rearm", "status" };

static int complain(void)
{
	fputs(usage, stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct rlimit files;
	const char *face = argc > 1 ? argv[1] : "";

	if (argc > 1 && parse(argc - 1, argv + 1, &arguments))
		return complain();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	/* A descriptor for each restored task, and a few for its files. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (!strcmp(face, "store") && arguments.store.store && arguments.store.socket >= 0 &&
	    (arguments.store.images || !arguments.store.last))
		return store_round(&arguments.store);
	if (!strcmp(face, "serve") && !arguments.serve.store == arguments.frames && arguments.serve.images && arguments.serve.socket &&
	    arguments.serve.journal)
		return serve(&arguments.serve);
	if (!strcmp(face, "begin"))
		return device_begin(arguments.keep_out, arguments.keep_outs);
	if (!strcmp(face, "keep") && arguments.store.images && arguments.store.socket >= 0)
		return keep(&(struct keep_options){ .images = arguments.store.images,
						    .socket = arguments.store.socket,
						    .lazy = arguments.lazy,
						    .clear_soft_dirty = arguments.clear_soft_dirty });
	if (!strcmp(face, "bind") && arguments.store.images)
		return bind_tree(arguments.store.images);
	for (size_t i = 0; i < sizeof(device_faces) / sizeof(*device_faces); i++)
		if (!strcmp(face, device_faces[i]))
			return device_face(face);
	return complain();
}
