/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* include/uapi/asm-generic/socket.h, since Linux 4.13 */
enum { OPTION_PEERGROUPS = 59 };

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

static const char *take_groups(int socket, struct peer *peer)
{
	uint32_t groups[PAIR_GROUPS_MAX];
	socklen_t size = sizeof(groups);

	if (getsockopt(socket, SOL_SOCKET, OPTION_PEERGROUPS, groups, &size))
		return errno == ERANGE ? "has a peer with more groups than can be carried" : "has a peer whose groups cannot be read";
	peer->groups_count = size / sizeof(*groups);
	peer->groups = take(size);
	memcpy(peer->groups, groups, size);
	return NULL;
}

static const char *take_peer(int socket, struct peer *peer)
{
	struct ucred noted;
	socklen_t size = sizeof(noted);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &noted, &size))
		return "has a peer whose user cannot be read";
	if (noted.pid <= 0 || noted.uid == UINT32_MAX || noted.gid == UINT32_MAX)
		return "has a peer (SO_PEERCRED) of other namespaces";
	peer->pid = noted.pid;
	peer->user = noted.uid;
	peer->group = noted.gid;
	return take_groups(socket, peer);
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
	return take_peer(socket, &end->peer);
}

void capture_other_name(int socket, struct pair_end *other)
{
	take_name(socket, getpeername, other);
}
