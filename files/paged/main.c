/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: options, and which subcommand needs which of them. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/pages.h"
#include "frames/bind.h"
#include "frames/device.h"
#include "frames/record.h"
#include "page_server/discard.h"
#include "serve/serve.h"
#include "store/round.h"

static const char usage[] =
	"Usage:\n"
	"  paged store --store DIR --socket-fd N [--first]                      one pre-dump round of CRIU\n"
	"  paged store --store DIR --socket-fd N [--first] --last --images-dir DIR   its last dump\n"
	"  paged discard --socket-fd N                             a dump that is only to show whether CRIU can make it\n"
	"  paged serve --store DIR | --frames --images-dir DIR --socket PATH --journal FILE [--after FILE]\n"
	"                                                          restore on demand, and when FILE is there all the rest\n"
	"  paged begin --keep-out START-END [--keep-out ...]       pages stay in memory: before the dump\n"
	"  paged record --images-dir DIR --socket-fd N [--lazy] [--clear-soft-dirty]   the dump\n"
	"  paged layout | drop                                     after it, or nothing of it\n"
	"  paged bind --images-dir DIR                             the restored tree stands still\n"
	"  paged seal                                              it is about to run: no other kernel takes the frames now\n"
	"  paged hand-over                                         it runs, and gets its pages by serve --frames\n"
	"  paged release | abandon | rearm | status                it has all; it never will; another kernel is to try\n";

struct arguments {
	const char *store, *images, *socket, *journal, *after;
	int socket_fd;
	bool first, last, frames, lazy, clear_soft_dirty;
	const char *keep_out[KUP_PPP_KEEP_OUT_MAX];
	size_t keep_outs;
};

/* getopt_long() returns an option's index in these two lists, plus one. */
enum {
	OPTION_STORE,
	OPTION_IMAGES,
	OPTION_SOCKET,
	OPTION_JOURNAL,
	OPTION_AFTER,
	OPTION_FIRST,
	OPTION_LAST,
	OPTION_FRAMES,
	OPTION_LAZY,
	OPTION_CLEAR_SOFT_DIRTY,
	OPTION_SOCKET_FD,
	OPTION_KEEP_OUT
};

static const struct option long_options[] = {
	{ "store", required_argument, NULL, OPTION_STORE + 1 },
	{ "images-dir", required_argument, NULL, OPTION_IMAGES + 1 },
	{ "socket", required_argument, NULL, OPTION_SOCKET + 1 },
	{ "journal", required_argument, NULL, OPTION_JOURNAL + 1 },
	{ "after", required_argument, NULL, OPTION_AFTER + 1 },
	{ "first", no_argument, NULL, OPTION_FIRST + 1 },
	{ "last", no_argument, NULL, OPTION_LAST + 1 },
	{ "frames", no_argument, NULL, OPTION_FRAMES + 1 },
	{ "lazy", no_argument, NULL, OPTION_LAZY + 1 },
	{ "clear-soft-dirty", no_argument, NULL, OPTION_CLEAR_SOFT_DIRTY + 1 },
	{ "socket-fd", required_argument, NULL, OPTION_SOCKET_FD + 1 },
	{ "keep-out", required_argument, NULL, OPTION_KEEP_OUT + 1 },
	{ NULL, 0, NULL, 0 },
};

static int parse_socket_fd(struct arguments *arguments)
{
	char *end;
	long number = strtol(optarg, &end, 10);

	if (end == optarg || *end || number < 0 || number > INT_MAX)
		return fail("--socket-fd is '%s', expected the number of an inherited descriptor", optarg);
	arguments->socket_fd = (int)number;
	return 0;
}

static int parse_option(int option, struct arguments *arguments)
{
	const char **const texts[] = { &arguments->store, &arguments->images, &arguments->socket, &arguments->journal,
				       &arguments->after };
	bool *const flags[] = { &arguments->first, &arguments->last, &arguments->frames, &arguments->lazy,
				&arguments->clear_soft_dirty };

	if (option == OPTION_SOCKET_FD)
		return parse_socket_fd(arguments);
	if (option == OPTION_KEEP_OUT) {
		if (arguments->keep_outs == KUP_PPP_KEEP_OUT_MAX)
			return fail("--keep-out is there more than %d times", KUP_PPP_KEEP_OUT_MAX);
		arguments->keep_out[arguments->keep_outs++] = optarg;
	} else if (option >= OPTION_FIRST) {
		*flags[option - OPTION_FIRST] = true;
	} else {
		*texts[option] = optarg;
	}
	return 0;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	int value;

	while ((value = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (value == '?' || parse_option(value - 1, arguments))
			return -1;
	return optind == argc ? 0 : fail("'%s' is not understood", argv[optind]);
}

static bool can_store(const struct arguments *arguments)
{
	return arguments->store && arguments->socket_fd >= 0 && (arguments->images || !arguments->last);
}

static int run_store(const struct arguments *arguments)
{
	return store_round(&(struct store_options){ .images = arguments->images,
						    .store = arguments->store,
						    .socket = arguments->socket_fd,
						    .first = arguments->first,
						    .last = arguments->last });
}

static bool can_discard(const struct arguments *arguments)
{
	return arguments->socket_fd >= 0;
}

static int run_discard(const struct arguments *arguments)
{
	return discard_pages(arguments->socket_fd);
}

static bool can_serve(const struct arguments *arguments)
{
	return !arguments->store == arguments->frames && arguments->images && arguments->socket && arguments->journal;
}

static int run_serve(const struct arguments *arguments)
{
	return serve(&(struct serve_options){ .images = arguments->images,
					      .store = arguments->store,
					      .socket = arguments->socket,
					      .journal = arguments->journal,
					      .after = arguments->after });
}

static bool can_begin(const struct arguments *arguments)
{
	(void)arguments;
	return true;
}

static int run_begin(const struct arguments *arguments)
{
	return device_begin(arguments->keep_out, arguments->keep_outs);
}

static bool can_record(const struct arguments *arguments)
{
	return arguments->images && arguments->socket_fd >= 0;
}

static int run_record(const struct arguments *arguments)
{
	return record_tree(&(struct record_options){ .images = arguments->images,
						     .socket = arguments->socket_fd,
						     .lazy = arguments->lazy,
						     .clear_soft_dirty = arguments->clear_soft_dirty });
}

static bool can_bind(const struct arguments *arguments)
{
	return arguments->images;
}

static int run_bind(const struct arguments *arguments)
{
	return bind_tree(arguments->images);
}

static const struct subcommand {
	const char *name;
	/* Whether the options that it needs are there. */
	bool (*can)(const struct arguments *arguments);
	int (*run)(const struct arguments *arguments);
} subcommands[] = {
	{ "store", can_store, run_store },    { "discard", can_discard, run_discard }, { "serve", can_serve, run_serve },
	{ "begin", can_begin, run_begin },    { "record", can_record, run_record },    { "bind", can_bind, run_bind },
};

static int complain(void)
{
	fputs(usage, stderr);
	return EXIT_USAGE;
}

/* A descriptor for each restored task, and a few for its files. */
static void raise_descriptor_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .socket_fd = -1 };
	const char *name = argc > 1 ? argv[1] : "";

	if (argc > 1 && parse(argc - 1, argv + 1, &arguments))
		return complain();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	if (device_has_call(name))
		return device_call(name);
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(*subcommands); i++)
		if (!strcmp(name, subcommands[i].name) && subcommands[i].can(&arguments))
			return subcommands[i].run(&arguments);
	return complain();
}
