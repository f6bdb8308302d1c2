/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: a whole round of `paged store`, or all that CRIU sends to `paged record` or `paged discard`. The first byte chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames/record.h"
#include "fuzz.h"
#include "page_server/discard.h"
#include "snapshot.h"
#include "store/round.h"

static char directory[64] = "/dev/shm/paged-fuzz.XXXXXX", images[96], store[96];

static void prepare(void)
{
	/* Areas for the tasks of the recorded streams. */
	const struct area areas[] = { { 0x10000, 0x10000, 0, 0 },
				      { 0x550000000000, 0x10000000, 0, 0 },
				      { 0x7f0000000000, 0xfff0000, 0, 0 } };

	/* Nobody says that the frames are to be recorded. */
	CHECK(mkdtemp(directory) && freopen("/dev/null", "r", stdin));
	snprintf(images, sizeof(images), "%s/images", directory);
	snprintf(store, sizeof(store), "%s/store", directory);
	CHECK(!mkdir(images, 0700) && !mkdir(store, 0700));
	write_mm(images, FUZZ_TASK, areas, 3);
	fuzz_remove_at_exit(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_options options = { .images = images, .store = store };
	const int room = 1 << 20;
	int ends[2];

	if (!*images)
		prepare();
	/* One write must take it all: nobody reads yet. */
	if (!size || size > (1 << 16))
		return -1;
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK(!setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	      !setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	CHECK(send(ends[0], data + 1, size - 1, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size - 1);
	shutdown(ends[0], SHUT_WR);
	options.socket = ends[1];
	options.last = data[0] & 1;
	options.first = !(data[0] & 2);
	if (data[0] & 8)
		(void)discard_pages(ends[1]);
	else if (data[0] & 4)
		(void)record_tree(&(struct record_options){ .images = images, .socket = ends[1] });
	else
		(void)store_round(&options);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
