/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page_server/peer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

const char *type_name(enum object_type type)
{
	return type == OBJECT_TASK ? "task" : "shared memory";
}

/* All bytes of a message; 1 if the sender has closed the connection instead, -1 after saying what happened. */
static int receive(struct peer *peer, void *bytes, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = recv(peer->socket, (char *)bytes + have, size - have, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno("the page stream cannot be read");
		if (got == 0 && !have)
			return 1;
		if (got == 0)
			return fail("the page stream ends after %zu bytes of a message, expected %zu: CRIU has given up", have,
				    size);
		have += (size_t)got;
	}
	return 0;
}

int peer_answer(struct peer *peer, const void *bytes, size_t size)
{
	if (send(peer->socket, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		return fail_errno("the answer to CRIU cannot be sent");
	return 0;
}

int peer_request(struct peer *peer, struct wire_request *request)
{
	uint8_t bytes[WIRE_LONG];
	size_t have = 0;
	int result;

	if (peer->form == WIRE_UNKNOWN) {
		result = receive(peer, bytes, WIRE_SHORT);
		if (result)
			return result > 0 ? fail("the page stream ends before its first request") : -1;
		peer->form = wire_form(bytes);
		if (peer->form == WIRE_UNKNOWN)
			return fail(
				"the page stream begins with neither the 24 nor the 32 byte form of CRIU 3.17 to 4.2: is this socket CRIU's --ps-socket?");
		have = WIRE_SHORT;
	}
	if (have < (size_t)peer->form) {
		result = receive(peer, bytes + have, (size_t)peer->form - have);
		if (result)
			return result > 0 ? fail("the page stream ends without CRIU's closing request: the dump has failed") : -1;
	}
	return wire_decode(peer->form, bytes, request);
}

int peer_open(const struct peer *opened)
{
	int socket = opened->socket;
	int type = 0, domain = 0;
	socklen_t size = sizeof(type);
	struct ucred peer;

	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size))
		return fail_errno("--socket-fd %d is no socket", socket);
	size = sizeof(domain);
	if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX || type != SOCK_STREAM)
		return fail("--socket-fd %d is a socket of another kind, expected a unix stream", socket);
	size = sizeof(peer);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) || (peer.uid && peer.uid != geteuid()))
		return fail("the other end of --socket-fd %d belongs to user %u, expected root", socket, peer.uid);
	return 0;
}

int peer_content(struct peer *peer, void *content, size_t size)
{
	int result = receive(peer, content, size);

	return result > 0 ? fail("the page stream ends in the middle of a run: CRIU has given up") : result;
}
