/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/queue.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lines.h"

/* include/uapi/asm-generic/socket.h; the C libraries of older systems have no name for the last one. */
enum { OPTION_PEEK_OFF = 42, OPTION_BUF_LOCK = 72 };
#define CHUNK ((size_t)256 << 10)

static const char *add_message(struct pair_end *end, int type, uint32_t length)
{
	/* A stream has no borders within. */
	if (type == SOCK_STREAM && end->messages_count) {
		end->messages[0] += length;
		return NULL;
	}
	if (end->messages_count == MESSAGES_MAX)
		return "has more unread messages than can be carried";
	APPEND(end->messages, end->messages_count, length);
	return NULL;
}

/* Copies `pending` bytes; SO_PEEK_OFF moves the place on. */
static const char *copy_bytes(int socket, int type, struct pair_end *end, int data, size_t pending)
{
	size_t room = type == SOCK_STREAM && pending > CHUNK ? CHUNK : pending;
	CLEANUP_FREE char *buffer = take_more(NULL, room, 1);
	bool was_reset = false;

	while (pending) {
		struct iovec part = { .iov_base = buffer, .iov_len = room };
		/* Without a place for them: a descriptor that is passed would be opened here. */
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t got = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
		const char *problem;

		if (got < 0 && errno == ECONNRESET && end->reset && !was_reset) {
			was_reset = true;
			continue;
		}
		if (got <= 0 || (size_t)got > pending)
			return "has unread data that cannot be read";
		if (message.msg_flags & MSG_CTRUNC)
			return "has unread data with descriptors or credentials in it";
		if (write_all(data, buffer, (size_t)got))
			return "has unread data for which the disk has no place";
		problem = add_message(end, type, (uint32_t)got);
		if (problem)
			return problem;
		pending -= (size_t)got;
	}
	return NULL;
}

/* Out-of-band data waits (net/unix/af_unix.c, from 5.15 on). */
static bool has_urgent(int socket)
{
	char byte;

	return recv(socket, &byte, 1, MSG_OOB | MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Whether there is something to read: with a queue of no bytes that is a message of none, which looks like the end. */
static bool is_readable(int socket)
{
	struct pollfd asked = { .fd = socket, .events = POLLIN | POLLRDHUP };

	return poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) && !(asked.revents & POLLRDHUP);
}

const char *queue_copy(int socket, int type, struct pair_end *end, int data, uint64_t bytes)
{
	const char *problem;
	int pending, before, none = 0;
	socklen_t size = sizeof(before);

	if (has_urgent(socket))
		return "has urgent data (MSG_OOB)";
	if (ioctl(socket, FIONREAD, &pending) || pending < 0)
		return "has a queue whose size cannot be read";
	if ((uint64_t)pending > PAIRS_BYTES_MAX - bytes)
		return "has more unread data than can be carried";
	if (!pending)
		return is_readable(socket) ? "has an empty message" : NULL;
	if (getsockopt(socket, SOL_SOCKET, OPTION_PEEK_OFF, &before, &size) ||
	    setsockopt(socket, SOL_SOCKET, OPTION_PEEK_OFF, &none, sizeof(none)))
		return "cannot be read from the front of its queue";
	problem = copy_bytes(socket, type, end, data, (size_t)pending);
	if (setsockopt(socket, SOL_SOCKET, OPTION_PEEK_OFF, &before, sizeof(before)) && !problem)
		problem = "has an offset (SO_PEEK_OFF) that cannot be put back";
	return problem;
}

/* ---- again ---- */

/* The kernel doubles what is set, and returns the double. */
static int set_size(int socket, int size)
{
	size /= 2;
	return setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
}

/* Sends all; the buffer grows where the queue is longer than a new socket's may be. */
static int send_growing(int socket, const char *bytes, size_t size)
{
	int room;
	socklen_t length = sizeof(room);

	while (size) {
		ssize_t put = send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (put < 0 && errno != EAGAIN && errno != EMSGSIZE && errno != EINTR)
			return -1;
		if (put < 0 && errno != EINTR) {
			if (getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, &length) || room > INT_MAX / 4 || set_size(socket, 2 * room))
				return -1;
		}
		if (put < 0)
			continue;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

/* As a socket is whose size nobody has set. The application's own size is set by put-right. */
static void forget_size(int socket, int size)
{
	int unlocked = 0;

	set_size(socket, size);
	setsockopt(socket, SOL_SOCKET, OPTION_BUF_LOCK, &unlocked, sizeof(unlocked));
}

int queue_fill(int other, const struct pair_end *end, int data)
{
	uint64_t offset = end->offset;
	int first, now;
	socklen_t length = sizeof(first);

	if (getsockopt(other, SOL_SOCKET, SO_SNDBUF, &first, &length))
		return -1;
	for (size_t i = 0; i < end->messages_count; i++) {
		CLEANUP_FREE char *bytes = take_more(NULL, end->messages[i], 1);

		if (read_all_at(data, bytes, end->messages[i], (off_t)offset) || send_growing(other, bytes, end->messages[i]))
			return -1;
		offset += end->messages[i];
	}
	if (!getsockopt(other, SOL_SOCKET, SO_SNDBUF, &now, &length) && now != first)
		forget_size(other, first);
	return 0;
}
