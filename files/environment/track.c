/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "track.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base.h"

/* A million connections, some 250 bytes each. */
#define LARGEST (off_t)(256 << 20)
#define ANSWER_SIZE 8192
/* Seconds. The kernel answers at once; the applications wait. */
#define PATIENCE 2

/* 0 if the kernel has taken the message, otherwise its error. What it knows already is fine. */
static int send_one(int kernel, const struct nlmsghdr *message)
{
	union {
		struct nlmsghdr header;
		char bytes[ANSWER_SIZE];
	} answer;
	struct nlmsgerr told;

	if (send(kernel, message, message->nlmsg_len, 0) != (ssize_t)message->nlmsg_len)
		return errno;
	ssize_t length = recv(kernel, &answer, sizeof(answer), 0);

	if (length < (ssize_t)NLMSG_LENGTH(sizeof(told)) || answer.header.nlmsg_type != NLMSG_ERROR)
		return length >= 0 ? EPROTO : errno == EAGAIN ? ETIMEDOUT : errno;
	memcpy(&told, NLMSG_DATA(&answer.header), sizeof(told));
	return told.error == -EEXIST ? 0 : -told.error;
}

static int send_all(int kernel, const char *bytes, size_t size)
{
	size_t sent = 0, refused = 0, at = 0;
	int error = 0;

	while (size - at >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)(bytes + at);
		/* NLMSG_ALIGN has 32 bits. */
		size_t whole = ((size_t)message->nlmsg_len + NLMSG_ALIGNTO - 1) & ~(size_t)(NLMSG_ALIGNTO - 1);

		if (message->nlmsg_len < sizeof(*message) || whole > size - at)
			break;
		int failed = send_one(kernel, message);

		if (failed) {
			error = failed;
			refused++;
		}
		if (failed == ETIMEDOUT)
			break;
		sent++;
		at += whole;
	}
	if (at != size && error != ETIMEDOUT)
		return fail("the list of connections is broken behind %zu of them", sent);
	errno = error;
	return refused ? fail_errno("connection tracking has not taken %zu of %zu connections", refused, sent) : 0;
}

int track(const char *path)
{
	struct stat about;
	CLEANUP_FD int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (file < 0 || fstat(file, &about))
		return fail_errno("%s cannot be read", path);
	if (!S_ISREG(about.st_mode) || about.st_size > LARGEST)
		return fail("%s is not a list of connections", path);
	size_t size = (size_t)about.st_size;
	CLEANUP_FREE char *bytes = take(size + 1);

	if (read_all_at(file, bytes, size, 0))
		return fail_errno("%s cannot be read", path);
	CLEANUP_FD int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	const struct timeval patience = { .tv_sec = PATIENCE };

	if (kernel >= 0 && setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return fail_errno("the kernel's answers cannot be waited for");
	return kernel < 0 ? fail_errno("the kernel has no connection tracking") : send_all(kernel, bytes, size);
}
