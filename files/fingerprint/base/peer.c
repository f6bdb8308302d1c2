/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/peer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lines.h"

/* include/uapi/asm-generic/socket.h, since Linux 4.13 */
enum { OPTION_PEERGROUPS = 59 };

static const char *read_groups(int socket, struct peer *peer)
{
	uint32_t groups[PEER_GROUPS_MAX];
	socklen_t size = sizeof(groups);

	if (getsockopt(socket, SOL_SOCKET, OPTION_PEERGROUPS, groups, &size))
		return errno == ERANGE ? "has a peer with more groups than can be carried" : "has a peer whose groups cannot be read";
	peer->groups_count = size / sizeof(*groups);
	peer->groups = take(size);
	memcpy(peer->groups, groups, size);
	return NULL;
}

const char *peer_read(int socket, struct peer *peer)
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
	return read_groups(socket, peer);
}

bool peer_has_rights_of(const struct peer *one, const struct peer *other)
{
	return one->user == other->user && one->group == other->group && one->groups_count == other->groups_count &&
	       (!one->groups_count || !memcmp(one->groups, other->groups, one->groups_count * sizeof(*one->groups)));
}

bool peer_equal(const struct peer *one, const struct peer *other)
{
	return one->pid == other->pid && one->lives == other->lives && peer_has_rights_of(one, other);
}

void peer_write(const struct peer *peer, FILE *file)
{
	fprintf(file, "%d %d %u %u ", peer->pid, peer->lives, peer->user, peer->group);
	value_write(file, peer->groups, peer->groups_count * sizeof(*peer->groups));
}

int peer_parse(struct peer *peer, char *const *word)
{
	uint64_t pid, lives, user, group;
	uint32_t groups[PEER_GROUPS_MAX];
	ssize_t size = value_read(word[4], groups, sizeof(groups));

	/* The last id is that of nobody at all: chown(2) and setresuid(2) take it for "leave it". */
	if (parse_number(word[0], INT_MAX, &pid) || parse_number(word[1], 1, &lives) || parse_number(word[2], UINT32_MAX - 1, &user) ||
	    parse_number(word[3], UINT32_MAX - 1, &group) || size < 0 || (size_t)size % sizeof(*groups) || (lives && !pid))
		return -1;
	*peer = (struct peer){ .pid = (pid_t)pid, .lives = lives, .user = (uid_t)user, .group = (gid_t)group };
	peer->groups_count = (size_t)size / sizeof(*groups);
	peer->groups = take((size_t)size);
	memcpy(peer->groups, groups, (size_t)size);
	return 0;
}
