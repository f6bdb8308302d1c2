/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/take.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pairs/capture.h"
#include "pairs/carried.h"
#include "pairs/holders.h"
#include "pairs/pair.h"
#include "pairs/queue.h"
#include "pairs/table.h"

struct taking {
	struct carried carried;
	struct unix_table table;
	struct holders holders;
	struct pairs pairs;
	int data;
};

static const char *unit_name(const struct taking *taking, const struct holder *holder)
{
	return taking->carried.units[holder->unit].name;
}

/* The name of the connection for people: that of either end. */
static const char *name_for_people(const struct taking *taking, const struct unix_socket *one)
{
	const struct unix_socket *peer = one->peer ? unix_table_find(&taking->table, one->peer) : NULL;

	if (*one->name)
		return one->name;
	return peer && *peer->name ? peer->name : "no name";
}

static int refuse(const struct taking *taking, const struct holder *holder, const char *problem)
{
	const struct unix_socket *one = unix_table_find(&taking->table, holder->inode);

	return fail("A unix connection of %s (%s, descriptor %d of process %d) %s.", unit_name(taking, holder),
		    one ? name_for_people(taking, one) : "closed", holder->number, holder->process, problem);
}

/* ---- what stands in the way ---- */

/* A connection that waits to be accepted is in no image of CRIU's in a way that could be restored. */
static int check_waiting_at(const struct taking *taking, const struct holder *listener, const struct unix_socket *listening)
{
	for (size_t i = 0; i < listening->waiting_count; i++) {
		size_t count;
		const struct holder *client = listening->waiting[i] ? holders_of(&taking->holders, listening->waiting[i], &count) : NULL;

		if (client && client->unit != listener->unit)
			return fail("A connection of %s to %s (%s) waits to be accepted, and CRIU cannot carry it in that state; try again.",
				    unit_name(taking, client), unit_name(taking, listener), listening->name);
	}
	return 0;
}

static int check_waiting(const struct taking *taking)
{
	for (size_t i = 0; i < taking->holders.count; i++) {
		const struct holder *holder = &taking->holders.list[i];
		const struct unix_socket *one = unix_table_find(&taking->table, holder->inode);

		if (one && one->state == UNIX_LISTENS && one->waiting_count && check_waiting_at(taking, holder, one))
			return -1;
	}
	return 0;
}

/* Each unit that has the end must have been dumped with it as one that leads out. */
static int check_seen(const struct taking *taking, const struct holder *holders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!carried_leads_out(&taking->carried.units[holders[i].unit], holders[i].inode))
			return refuse(taking, &holders[i], "was not whole when the unit was dumped, or both of its ends are open in it; try again");
	return 0;
}

/* What the kernel has noted of a process can be noted again of one that will be there, or that is gone. */
static int check_peer(const struct taking *taking, const struct holder *holder, struct peer *peer)
{
	char problem[128];

	peer->lives = carried_has_process(&taking->carried, peer->pid);
	if (peer->lives || (kill(peer->pid, 0) && errno == ESRCH))
		return 0;
	snprintf(problem, sizeof(problem), "was made by process %d, which is not carried", peer->pid);
	return refuse(taking, holder, problem);
}

/* ---- taking ---- */

/* An end while it is taken. */
struct held {
	const struct holder *holders; /* NULL: it was closed */
	size_t count;
	int copy;
	struct pair_end end;
};

static int take_end(const struct taking *taking, struct held *held)
{
	const char *problem;

	held->copy = holder_copy(held->holders);
	if (held->copy < 0)
		return -1;
	held->end.inode = held->holders->inode;
	held->end.shut = unix_table_find(&taking->table, held->holders->inode)->shut;
	for (size_t i = 0; i < held->count; i++)
		if (end_add_unit(&held->end, unit_name(taking, &held->holders[i])))
			return refuse(taking, held->holders, "is shared by more units than can be carried");
	problem = capture_end(held->copy, &held->end);
	return problem ? refuse(taking, held->holders, problem) : check_peer(taking, held->holders, &held->end.peer);
}

/* Whether somebody listens by the name of this end: then it is the one that was accepted. */
static bool has_listener(const struct taking *taking, const struct held *held)
{
	const struct unix_socket *one = held->holders ? unix_table_find(&taking->table, held->holders->inode) : NULL;

	for (size_t i = 0; one && i < taking->table.count; i++)
		if (taking->table.list[i].state == UNIX_LISTENS && !strcmp(taking->table.list[i].name, one->name))
			return true;
	return false;
}

/* Puts the end that was accepted first: it has its listener's name. Both have names where the other one was bound before. */
static void put_in_order(const struct taking *taking, struct held ends[2])
{
	struct held kept = ends[0];

	if (!ends[1].end.name_size)
		return;
	if (ends[0].end.name_size && (has_listener(taking, &ends[0]) || !has_listener(taking, &ends[1])))
		return;
	ends[0] = ends[1];
	ends[1] = kept;
}

static int copy_queue(struct taking *taking, struct held *held, int type)
{
	const char *problem = held->holders ? queue_copy(held->copy, type, &held->end, taking->data, taking->pairs.bytes) : NULL;

	if (problem)
		return refuse(taking, held->holders, problem);
	taking->pairs.bytes += end_bytes(&held->end);
	return 0;
}

static int take_ends(struct taking *taking, struct held ends[2], int type)
{
	if (take_end(taking, &ends[0]) || (ends[1].holders && take_end(taking, &ends[1])))
		return -1;
	if (!ends[1].holders)
		capture_other_name(ends[0].copy, &ends[1].end);
	put_in_order(taking, ends);
	return copy_queue(taking, &ends[0], type) || copy_queue(taking, &ends[1], type) ? -1 : 0;
}

static int take_pair(struct taking *taking, const struct holder *holders, size_t count, const struct unix_socket *one)
{
	struct held ends[2] = { { .holders = holders, .count = count, .copy = -1 }, { .copy = -1 } };
	struct pair *pair;
	int result;

	if (one->peer)
		ends[1].holders = holders_of(&taking->holders, one->peer, &ends[1].count);
	if (one->peer && !ends[1].holders)
		return refuse(taking, holders, "leads to a process that is not carried");
	if (check_seen(taking, holders, count) || check_seen(taking, ends[1].holders, ends[1].count))
		return -1;
	if (taking->pairs.count == PAIRS_MAX)
		return refuse(taking, holders, "is one of more connections than can be carried");
	result = take_ends(taking, ends, one->type);
	close_fd(&ends[0].copy);
	close_fd(&ends[1].copy);
	pair = pairs_add(&taking->pairs);
	pair->type = one->type;
	pair->is_accepted = ends[0].end.name_size;
	pair->ends[0] = ends[0].end;
	pair->ends[1] = ends[1].end;
	return result;
}

static bool is_taken(const struct taking *taking, uint32_t inode)
{
	for (size_t i = 0; i < taking->pairs.count; i++)
		if (taking->pairs.list[i].ends[0].inode == inode || taking->pairs.list[i].ends[1].inode == inode)
			return true;
	return false;
}

static int take_inode(struct taking *taking, const struct carried_unit *unit, uint32_t inode)
{
	const struct unix_socket *one = unix_table_find(&taking->table, inode);
	size_t count;
	const struct holder *holders = one ? holders_of(&taking->holders, inode, &count) : NULL;

	if (!holders || !unix_is_stream(one) || one->state != UNIX_CONNECTED)
		return fail("Socket %u of %s is no unix connection of its processes.", inode, unit->name);
	return is_taken(taking, inode) ? 0 : take_pair(taking, holders, count, one);
}

static int take_all(struct taking *taking, FILE *list)
{
	if (carried_read(&taking->carried, list) || unix_table_read(&taking->table) ||
	    holders_find(&taking->holders, &taking->carried, &taking->table) || check_waiting(taking))
		return -1;
	for (size_t i = 0; i < taking->carried.count; i++)
		for (size_t j = 0; j < taking->carried.units[i].inodes_count; j++)
			if (take_inode(taking, &taking->carried.units[i], taking->carried.units[i].inodes[j]))
				return -1;
	return 0;
}

/* ---- the files ---- */

static int write_text(const struct pairs *pairs, int directory)
{
	CLEANUP_FD int fd = openat(directory, PAIRS_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int result;

	if (!file)
		return -1;
	fd = -1; /* the stream's */
	pairs_write(pairs, file);
	result = fflush(file) || ferror(file) ? -1 : 0;
	return fclose(file) ? -1 : result;
}

static void tell(const struct pairs *pairs, FILE *told)
{
	for (size_t i = 0; i < 2 * pairs->count; i++) {
		const struct pair_end *end = &pairs->list[i / 2].ends[i % 2];

		for (size_t j = 0; j < end->units_count; j++)
			fprintf(told, "%s %llu\n", end->units[j], (unsigned long long)end->inode);
	}
}

int pairs_take(const char *path, FILE *list, FILE *told)
{
	struct taking taking = { .data = -1 };
	CLEANUP_FD int directory = open_private_directory(path);
	int result = -1;

	if (directory < 0)
		return -1;
	taking.data = openat(directory, PAIRS_DATA, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (taking.data < 0)
		fail_errno("The file %s/" PAIRS_DATA " cannot be written", path);
	else
		result = take_all(&taking, list);
	/* The text is last: where it is, the data are complete. */
	if (!result && taking.pairs.count && write_text(&taking.pairs, directory))
		result = fail_errno("The file %s/" PAIRS_FILE " cannot be written", path);
	if (!result)
		tell(&taking.pairs, told);
	if (result || !taking.pairs.count) {
		unlinkat(directory, PAIRS_FILE, 0);
		unlinkat(directory, PAIRS_DATA, 0);
	}
	close_fd(&taking.data);
	carried_free(&taking.carried);
	unix_table_free(&taking.table);
	holders_free(&taking.holders);
	pairs_free(&taking.pairs);
	return result;
}
