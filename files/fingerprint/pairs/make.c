/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/actors.h"
#include "pairs/queue.h"
#include "pairs/stage.h"

struct making {
	const struct pairs *pairs;
	struct made *made; /* shared with the actors, who open descriptors */
	/* What an actor does: the pairs of its batch, and the listener that they connect to. */
	size_t *batch;
	size_t batch_count;
	int listener;
};

static int cannot(const struct pair *pair, const char *what)
{
	const struct pair_end *end = &pair->ends[end_is_closed(&pair->ends[0])];

	return fail_errno("The unix connection %llu of %s cannot %s", (unsigned long long)end->inode,
			  end->units_count ? end->units[0] : "a unit", what);
}

/* ---- what actors do ---- */

static int act_socketpair(void *context)
{
	const struct making *making = context;

	for (size_t i = 0; i < making->batch_count; i++) {
		size_t at = making->batch[i];

		if (socketpair(AF_UNIX, making->pairs->list[at].type | SOCK_CLOEXEC, 0, making->made[at].sockets))
			return -1;
	}
	return 0;
}

static int act_listen(void *context)
{
	return listen(((const struct making *)context)->listener, 1);
}

static int act_connect(void *context)
{
	const struct making *making = context;

	for (size_t i = 0; i < making->batch_count; i++) {
		const struct pair *pair = &making->pairs->list[making->batch[i]];
		int *sockets = making->made[making->batch[i]].sockets;

		if (stage_connect(sockets[CONNECTED], &pair->ends[ACCEPTED]))
			return -1;
		sockets[ACCEPTED] = accept4(making->listener, NULL, NULL, SOCK_CLOEXEC);
		if (sockets[ACCEPTED] < 0)
			return -1;
	}
	return 0;
}

/* ---- who does it ---- */

static bool is_made(const struct making *making, size_t at)
{
	return making->made[at].sockets[0] >= 0;
}

/* Begins a batch: this pair and those behind it that are like it. */
static void batch_of(struct making *making, size_t at, bool (*alike)(const struct pair *one, const struct pair *other))
{
	const struct pair *list = making->pairs->list;

	making->batch_count = 0;
	for (size_t i = at; i < making->pairs->count; i++)
		if (!is_made(making, i) && alike(&list[at], &list[i]))
			making->batch[making->batch_count++] = i;
}

static const struct peer *creator_of(const struct pair *pair)
{
	return &pair->ends[end_is_closed(&pair->ends[0])].peer;
}

static bool same_creator(const struct pair *one, const struct pair *other)
{
	return !other->is_accepted && peer_equal(creator_of(one), creator_of(other));
}

static bool same_listener(const struct pair *one, const struct pair *other)
{
	const struct pair_end *name = &one->ends[ACCEPTED], *other_name = &other->ends[ACCEPTED];

	return other->is_accepted && one->type == other->type && name->name_size == other_name->name_size &&
	       !memcmp(name->name, other_name->name, name->name_size) && peer_equal(&one->ends[CONNECTED].peer, &other->ends[CONNECTED].peer);
}

static bool same_ends(const struct pair *one, const struct pair *other)
{
	return same_listener(one, other) && peer_equal(&one->ends[ACCEPTED].peer, &other->ends[ACCEPTED].peer);
}

/* Opens the sockets that connect; a name of their own they have before. */
static int open_connected(struct making *making)
{
	for (size_t i = 0; i < making->batch_count; i++) {
		const struct pair *pair = &making->pairs->list[making->batch[i]];
		int *socket_of = &making->made[making->batch[i]].sockets[CONNECTED];

		*socket_of = socket(AF_UNIX, pair->type | SOCK_CLOEXEC, 0);
		if (*socket_of < 0 || (pair->ends[CONNECTED].name_size && stage_bind(*socket_of, &pair->ends[CONNECTED])))
			return cannot(pair, "get the name of its own");
	}
	return 0;
}

static int connect_all(struct making *making, size_t first)
{
	const struct pair *list = making->pairs->list;

	for (size_t at = first; at < making->pairs->count; at++) {
		if (is_made(making, at) || !same_listener(&list[first], &list[at]))
			continue;
		batch_of(making, at, same_ends);
		if (open_connected(making))
			return -1;
		if (act_as(&list[at].ends[ACCEPTED].peer, act_connect, making))
			return cannot(&list[at], "be connected by a process like that of before");
	}
	return 0;
}

static int make_accepted(struct making *making, size_t first)
{
	const struct pair *pair = &making->pairs->list[first];
	CLEANUP_FD int listener = socket(AF_UNIX, pair->type | SOCK_CLOEXEC, 0);

	if (listener < 0 || stage_bind(listener, &pair->ends[ACCEPTED]))
		return cannot(pair, "get its name");
	making->listener = listener;
	if (act_as(&pair->ends[CONNECTED].peer, act_listen, making))
		return cannot(pair, "be listened for by a process like that of before");
	return connect_all(making, first);
}

static int make_socketpairs(struct making *making, size_t first)
{
	const struct pair *pair = &making->pairs->list[first];

	batch_of(making, first, same_creator);
	return act_as(creator_of(pair), act_socketpair, making) ? cannot(pair, "be made by a process like that of before") : 0;
}

/* ---- what is in it ---- */

/* Lets go of an end that was closed; its peer gets ECONNRESET where bytes are lost with it. */
static int close_end(int *closed, int other, bool reset)
{
	if (reset && send(other, "", 1, MSG_NOSIGNAL) != 1)
		return -1;
	close_fd(closed);
	return 0;
}

static int shut(int socket, const struct pair_end *end)
{
	static const int how[] = { -1, SHUT_RD, SHUT_WR, SHUT_RDWR };

	return end->shut ? shutdown(socket, how[end->shut]) : 0;
}

static int finish_end(const struct pair *pair, int sockets[2], int at)
{
	const struct pair_end *end = &pair->ends[at], *other = &pair->ends[!at];

	if (end->nonblocking && fcntl(sockets[at], F_SETFL, O_RDWR | O_NONBLOCK))
		return -1;
	return end_is_closed(other) ? close_end(&sockets[!at], sockets[at], end->reset) : shut(sockets[at], end);
}

static int finish(const struct pair *pair, int sockets[2], int data)
{
	/* All that was sent before somebody stopped sending. */
	for (int at = 0; at < 2; at++)
		if (!end_is_closed(&pair->ends[at]) && queue_fill(sockets[!at], &pair->ends[at], data))
			return cannot(pair, "get what was not read yet");
	for (int at = 0; at < 2; at++)
		if (!end_is_closed(&pair->ends[at]) && finish_end(pair, sockets, at))
			return cannot(pair, "become as it was");
	return 0;
}

struct made *pairs_make(const struct pairs *pairs, int data)
{
	size_t count = pairs->count ? pairs->count : 1;
	struct made *made = mmap(NULL, count * sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CLEANUP_FREE size_t *batch = take_more(NULL, count, sizeof(*batch));
	struct making making = { .pairs = pairs, .made = made, .batch = batch };
	int result = 0;

	if (made == MAP_FAILED) {
		fail_errno("There is no memory for the unix connections");
		return NULL;
	}
	for (size_t i = 0; i < pairs->count; i++)
		made[i] = (struct made){ { -1, -1 } };
	for (size_t i = 0; i < pairs->count && !result; i++)
		if (!is_made(&making, i))
			result = pairs->list[i].is_accepted ? make_accepted(&making, i) : make_socketpairs(&making, i);
	for (size_t i = 0; i < pairs->count && !result; i++)
		result = finish(&pairs->list[i], made[i].sockets, data);
	return result ? NULL : made;
}
