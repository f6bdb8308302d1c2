/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A dump without the content of memory. CRIU is told that an earlier dump has all pages, and that none was written to since: then it
 * sends hardly any. What comes nevertheless is dropped.
 */
#include "page_server/discard.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

#include "page_server/peer.h"
#include "page_server/sink.h"
#include "page_server/soft_dirty.h"

struct discard {
	struct peer peer;
	struct sink sink;
	/* Pages of the stream, and those whose content came nevertheless. */
	uint64_t pages, dropped;
};

/* CRIU has frozen the task, and asks the kernel for its pages once it has the answer. */
static int open_object(struct discard *discard, const struct wire_request *request)
{
	const uint8_t has_parent = 1;

	if (request->type == OBJECT_TASK && clear_soft_dirty(request->id))
		return -1;
	return peer_answer(&discard->peer, &has_parent, sizeof(has_parent));
}

static int drop_run(struct discard *discard, const struct wire_request *request)
{
	discard->pages += request->pages;
	if (request->flags & PE_PARENT)
		return 0;
	discard->dropped += request->pages;
	return sink_drop(&discard->sink, discard->peer.socket, request->pages * PAGE_SIZE);
}

/* All that CRIU sends. CRIU has its answer when this returns. */
static int serve_requests(struct discard *discard)
{
	const int32_t has_parent = 1, good = 0;
	struct wire_request request;
	int result = 0;

	while (!result) {
		if (peer_request(&discard->peer, &request))
			return -1;
		switch (request.command) {
		case PS_OPEN2:
			result = open_object(discard, &request);
			break;
		case PS_PARENT:
			result = peer_answer(&discard->peer, &has_parent, sizeof(has_parent));
			break;
		case PS_ADD_F:
			result = drop_run(discard, &request);
			break;
		case PS_CLOSE:
		case PS_FORCE_CLOSE:
			return peer_answer(&discard->peer, &good, sizeof(good));
		}
	}
	return -1;
}

int discard_pages(int socket)
{
	struct discard discard = { .peer = PEER(socket), .sink = SINK_CLOSED };
	int result = peer_open(&discard.peer) || sink_open(&discard.sink) ? -1 : serve_requests(&discard);

	(void)shutdown(socket, SHUT_RDWR);
	sink_close(&discard.sink);
	if (result)
		return EXIT_FAILED;
	printf("{\"pages\": %" PRIu64 ", \"dropped_pages\": %" PRIu64 "}\n", discard.pages, discard.dropped);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
