/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/lines.h"
#include "parking/near.h"
#include "parking/parked.h"
#include "parking/parking.h"
#include "parking/segment.h"

/* Of the farthest peer, so that what it had sent before it was told has arrived; in microseconds, with the time that a switch adds. */
#define ROUND_TRIPS 1.5
#define ADDED 300.0

struct told {
	bool is_told;
	unsigned interface;
	struct sequences next; /* what it was told, but for the window */
};

/*
 * Reads where the connection stands, by repair mode. Not with data that waits to be sent: the kernel could take it for sent. The process
 * stands still; packets may come meanwhile. -1: it cannot be told.
 */
static int numbers_read(int socket, struct sequences *next)
{
	int on = 1, off = TCP_REPAIR_OFF_NO_WP, reuse, result, unsent;
	socklen_t size = sizeof(reuse);

	if (ioctl(socket, SIOCOUTQNSD, &unsent) || unsent || getsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, &size) ||
	    setsockopt(socket, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)))
		return -1;
	result = sequences_read(socket, next);
	/* Without a segment that tells the peer of the window. The mode takes SO_REUSEADDR away. */
	if (setsockopt(socket, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)) ||
	    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)))
		return -1;
	return result;
}

/* ---- telling ---- */

/* With what has come by now, and a window of zero. -1: that was refused. */
static int tell(struct sender *sender, const struct near_peer *one, const struct told *told)
{
	struct sequences no_room = { .sent = told->next.sent, .expected = told->next.expected };
	unsigned char bytes[SEGMENT_SIZE];
	struct iovec content = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	segment_build(&one->own, &one->peer, &no_room, bytes);
	return sender_send(sender, &one->own, &one->peer, told->interface, &content, 1);
}

/* A copy of the connection's descriptor, which may be another one by now. -1: it is. */
static int still_there(struct process_handle *handle, const struct near_peer *one)
{
	int copy = copy_of(handle, one->pid, one->number);
	struct endpoint own, peer;

	if (copy >= 0 && (ends_read(copy, &own, &peer) || !endpoint_equal(&own, &one->own) || !endpoint_equal(&peer, &one->peer)))
		close_fd(&copy);
	return copy;
}

/* Those that were not told, and those who were and have sent something since: nobody else acknowledges it before the outage. Returns refusals. */
static size_t tell_all(const struct near_peers *peers, struct told *told, struct sender *sender)
{
	struct process_handle handle = { .process = -1 };
	size_t refused = 0;

	for (size_t i = 0; i < peers->count; i++) {
		CLEANUP_FD int copy = still_there(&handle, &peers->list[i]);
		struct sequences next;

		if (copy < 0 || numbers_read(copy, &next) || (told[i].is_told && next.expected == told[i].next.expected))
			continue;
		told[i] = (struct told){ .is_told = true, .interface = interface_of(copy), .next = next };
		if (tell(sender, &peers->list[i], &told[i]))
			refused++;
	}
	close_fd(&handle.process);
	return refused;
}

/* Until all that was on its way has come. */
static void wait_for_the_farthest(const struct near_peers *peers, const struct told *told)
{
	uint32_t longest = 0;

	for (size_t i = 0; i < peers->count; i++)
		if (told[i].is_told && peers->list[i].round_trip > longest)
			longest = peers->list[i].round_trip;
	nanosleep(&(struct timespec){ .tv_nsec = (long)((longest * ROUND_TRIPS + ADDED) * 1000) }, NULL);
}

/* Returns -1 after saying why not. */
static int write_told(FILE *file, const struct near_peers *peers, const struct told *told)
{
	fputs(LINES_HEAD "\n", file);
	for (size_t i = 0; i < peers->count; i++) {
		const struct near_peer *one = &peers->list[i];
		struct parked_peer parked = { .interface = told[i].interface, .own = one->own, .peer = one->peer, .next = told[i].next };

		if (told[i].is_told)
			parked_write(file, &parked);
	}
	return fflush(file) || ferror(file) ? fail_errno("The peers that were told to wait cannot be written") : 0;
}

int parking_tell(const char *path, FILE *file)
{
	struct near_peers peers;
	struct sender sender;
	size_t size, refused;
	int result;
	CLEANUP_FREE char *text = lines_load(path, &size);
	CLEANUP_FREE struct told *told = NULL;

	if (!text || near_parse(&peers, text, size, path))
		return -1;
	told = take_more(NULL, peers.count + 1, sizeof(*told));
	for (size_t i = 0; i < peers.count; i++)
		told[i] = (struct told){ 0 };
	/* The applications stand still, and must not for as long as an interface has no room. */
	sender_open(&sender, SENDER_TCP, MSG_DONTWAIT);
	refused = tell_all(&peers, told, &sender);
	wait_for_the_farthest(&peers, told);
	refused += tell_all(&peers, told, &sender);
	sender_close(&sender);
	result = write_told(file, &peers, told);
	near_free(&peers);
	return refused ? -1 : result;
}
