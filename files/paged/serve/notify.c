/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* sd_listen_fds(3): SD_LISTEN_FDS_START */
#define FIRST_FD 3

bool notify_available(void)
{
	const char *path = getenv("NOTIFY_SOCKET");

	return path && (*path == '/' || *path == '@');
}

static int send_message(const char *text, int fd)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct iovec data = { .iov_base = (void *)text, .iov_len = strlen(text) };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	struct msghdr message = { .msg_name = &address, .msg_iov = &data, .msg_iovlen = 1 };

	if (!notify_available())
		return 0;
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (*path == '@')
		address.sun_path[0] = 0;
	else
		message.msg_namelen++;
	if (fd >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	CLEANUP_FD int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return socket_fd < 0 || sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

void notify(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	(void)send_message(text, -1);
}

int notify_store(int fd, const char *name)
{
	char text[128];

	/* Without FDPOLL=0 the manager would drop a descriptor that polls as ended. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
	if (send_message(text, fd))
		return fail_errno("the descriptor %s cannot be handed to the service manager", name);
	return 0;
}

void notify_forget(const char *name)
{
	notify("FDSTOREREMOVE=1\nFDNAME=%s", name);
}

int notify_barrier(int milliseconds)
{
	int ends[2];
	struct pollfd wait = { .events = 0 };
	int result;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	result = send_message("BARRIER=1", ends[1]);
	close(ends[1]);
	wait.fd = ends[0];
	if (!result)
		result = poll(&wait, 1, milliseconds) == 1 ? 0 : -1;
	close(ends[0]);
	return result;
}

void notify_received(void (*receive)(int fd, const char *name, void *context), void *context)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
	char name[64];
	int total;

	if (!pid || !count || !names || strtol(pid, NULL, 10) != getpid())
		return;
	total = (int)strtol(count, NULL, 10);
	for (int fd = FIRST_FD; fd < FIRST_FD + total; fd++) {
		size_t length = strcspn(names, ":");

		snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), names);
		names += length + (names[length] == ':');
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		receive(fd, name, context);
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}
