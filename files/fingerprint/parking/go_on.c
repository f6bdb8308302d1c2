/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lines.h"
#include "parking/parked.h"
#include "parking/parking.h"
#include "parking/segment.h"

int parking_go_on(const char *path)
{
	struct parked_peers peers;
	struct sender sender;
	size_t size, refused = 0;
	CLEANUP_FREE char *text = lines_load(path, &size);

	if (!text || parked_parse(&peers, text, size, path))
		return -1;
	sender_open(&sender, SENDER_TCP, MSG_DONTWAIT);
	for (size_t i = 0; i < peers.count; i++) {
		const struct parked_peer *one = &peers.list[i];
		unsigned char bytes[SEGMENT_SIZE];
		struct iovec content = { .iov_base = bytes, .iov_len = sizeof(bytes) };

		/* There was no room before either: the kernel tells of it when the application has read something. */
		if (!one->next.window)
			continue;
		segment_build(&one->own, &one->peer, &one->next, bytes);
		if (sender_send(&sender, &one->own, &one->peer, one->interface, &content, 1))
			refused++;
	}
	sender_close(&sender);
	parked_free(&peers);
	return refused ? -1 : 0;
}
