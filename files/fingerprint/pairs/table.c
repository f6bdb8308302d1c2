/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/table.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lines.h"

#define SOCKETS_MAX ((size_t)1 << 22)
/* The kernel fills at most 32 KiB at once (net/netlink/af_netlink.c). */
#define ANSWER_MAX 65536

static void take_name(struct unix_socket *one, const unsigned char *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size && i < sizeof(one->name) - 1; i++) {
		bool plain = bytes[i] > ' ' && bytes[i] < 127;

		one->name[i] = (char)(plain ? bytes[i] : '?');
	}
	if (size && !bytes[0])
		one->name[0] = '@';
	/* A path ends with a NUL. */
	if (i && bytes[0] && !bytes[i - 1])
		one->name[i - 1] = '\0';
}

static void take_attribute(struct unix_socket *one, const struct rtattr *attribute)
{
	size_t size = RTA_PAYLOAD(attribute);
	const void *bytes = RTA_DATA(attribute);

	if (attribute->rta_type == UNIX_DIAG_NAME)
		take_name(one, bytes, size);
	else if (attribute->rta_type == UNIX_DIAG_PEER && size >= sizeof(one->peer))
		memcpy(&one->peer, bytes, sizeof(one->peer));
	else if (attribute->rta_type == UNIX_DIAG_SHUTDOWN && size)
		one->shut = *(const unsigned char *)bytes & 3;
	else if (attribute->rta_type == UNIX_DIAG_ICONS && !one->waiting) {
		one->waiting_count = size / sizeof(*one->waiting);
		one->waiting = take(size);
		memcpy(one->waiting, bytes, one->waiting_count * sizeof(*one->waiting));
	}
}

static int take_message(struct unix_table *table, const struct nlmsghdr *message)
{
	const struct unix_diag_msg *found = NLMSG_DATA(message);
	struct unix_socket *one;
	size_t left;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*found)))
		return fail("The kernel's list of unix sockets is not as expected.");
	if (table->count == SOCKETS_MAX)
		return fail("There are more than %zu unix sockets.", SOCKETS_MAX);
	APPEND(table->list, table->count,
	       ((struct unix_socket){ .inode = found->udiag_ino, .type = found->udiag_type, .state = found->udiag_state }));
	one = &table->list[table->count - 1];
	left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*found));
	for (const struct rtattr *attribute = (const void *)(found + 1); RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		take_attribute(one, attribute);
	return 0;
}

/* 1: there is more. 0: that was all. */
static int take_answer(struct unix_table *table, const struct nlmsghdr *message, size_t left)
{
	for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 0;
		if (message->nlmsg_type == NLMSG_ERROR)
			return fail("The kernel does not list its unix sockets: its module unix_diag is missing, or refuses.");
		if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY && take_message(table, message))
			return -1;
	}
	return 1;
}

static int compare(const void *one, const void *other)
{
	uint32_t first = ((const struct unix_socket *)one)->inode, second = ((const struct unix_socket *)other)->inode;

	return (first > second) - (first < second);
}

int unix_table_read(struct unix_table *table)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req wanted;
	} request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.wanted = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
			    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS },
	};
	CLEANUP_FREE char *answer = take_more(NULL, ANSWER_MAX, 1);
	CLEANUP_FD int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int more;

	memset(table, 0, sizeof(*table));
	if (kernel < 0 || send(kernel, &request, sizeof(request), 0) < 0)
		return fail_errno("The kernel cannot be asked for its unix sockets");
	do {
		ssize_t size = recv(kernel, answer, ANSWER_MAX, 0);

		if (size <= 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return fail_errno("The kernel's list of unix sockets cannot be read");
		more = take_answer(table, (const void *)answer, (size_t)size);
	} while (more > 0);
	if (table->count)
		qsort(table->list, table->count, sizeof(*table->list), compare);
	return more;
}

void unix_table_free(struct unix_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->list[i].waiting);
	free(table->list);
	memset(table, 0, sizeof(*table));
}

const struct unix_socket *unix_table_find(const struct unix_table *table, uint32_t inode)
{
	struct unix_socket wanted = { .inode = inode };

	return table->count ? bsearch(&wanted, table->list, table->count, sizeof(*table->list), compare) : NULL;
}

bool unix_is_stream(const struct unix_socket *one)
{
	return one->type == SOCK_STREAM || one->type == SOCK_SEQPACKET;
}
