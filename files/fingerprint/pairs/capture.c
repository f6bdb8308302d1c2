/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef int (*name_reader)(int, struct sockaddr *, socklen_t *);

static void take_name(int socket, name_reader read_name, struct pair_end *end)
{
	/* The kernel ends a path of the full length with a NUL behind the structure. */
	union {
		struct sockaddr_un address;
		char bytes[sizeof(struct sockaddr_un) + 1];
	} name = { 0 };
	socklen_t size = sizeof(name);

	end->name_size = 0;
	if (read_name(socket, (struct sockaddr *)&name.address, &size) || size <= offsetof(struct sockaddr_un, sun_path))
		return;
	end->name_size = size - offsetof(struct sockaddr_un, sun_path);
	if (end->name_size > sizeof(end->name))
		end->name_size = sizeof(end->name);
	memcpy(end->name, name.address.sun_path, end->name_size);
	if (end->name[0])
		end->name_size = strnlen((char *)end->name, end->name_size);
}

static bool has_error(int socket)
{
	struct pollfd asked = { .fd = socket };

	return poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR);
}

const char *capture_end(int socket, struct pair_end *end)
{
	struct f_owner_ex owner = { 0 };
	int flags = fcntl(socket, F_GETFL);

	if (flags < 0 || fcntl(socket, F_GETOWN_EX, &owner))
		return "cannot be asked for its flags";
	if (owner.pid)
		return "sends signals (F_SETOWN)";
	end->nonblocking = flags & O_NONBLOCK;
	end->reset = has_error(socket);
	take_name(socket, getsockname, end);
	return peer_read(socket, &end->peer);
}

void capture_other_name(int socket, struct pair_end *other)
{
	take_name(socket, getpeername, other);
}
