/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/put_right.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sockets/listener.h"
#include "sockets/memberships.h"
#include "sockets/options.h"

static void print_value(const struct option_type *type, const struct option_value *value)
{
	int number;

	if (type->kind == VALUE_NUMBER) {
		memcpy(&number, value->bytes, sizeof(number));
		printf("%d", number);
	} else if (type->kind == VALUE_BYTES) {
		value_write(stdout, value->bytes, value->size);
	} else {
		for (size_t i = 0; i < value->size; i++)
			putchar(value->bytes[i] > ' ' && value->bytes[i] < 0x7f ? value->bytes[i] : '?');
	}
}

static void tell(const struct socket_line *line, const struct option_type *type, const struct option_value *is,
		 const struct option_value *was)
{
	printf("process %d descriptor %d: %s is ", line->pid, line->number, type->name);
	if (is)
		print_value(type, is);
	else
		printf("not there");
	printf(", was ");
	print_value(type, was);
	putchar('\n');
}

static bool same_value(const struct option_value *one, const struct option_value *other)
{
	return one->size == other->size && !memcmp(one->bytes, other->bytes, one->size);
}

/*
 * CRIU reads connections in repair mode, in which SO_REUSEADDR is 2 and after which it is 0 (net/ipv4/tcp.c, TCP_REPAIR). What it
 * was is that of the listener: accept() passes it on, and a server that is restarted cannot bind its port while connections with 0
 * are left. Of a connection to elsewhere it is not known, and has no effect any more.
 */
static bool settle_reuse(const struct sockets_found *found, const struct socket_line *line, struct option_value *value)
{
	unsigned char known = found->reuse[end_port(&line->identity.local)];
	int number;

	memcpy(&number, value->bytes, sizeof(number));
	if (number != 2)
		return true;
	number = known - 1;
	memcpy(value->bytes, &number, sizeof(number));
	return known != 0;
}

/*
 * CRIU sets the size of the receive buffer, and a newer kernel makes a limit of the window of that (7.2 does, 6.18 does not): a
 * connection would be slow for ever, and so would all that a listener accepts. 0 is no limit, as the highest window is, and cannot be
 * set while a socket listens (net/ipv4/tcp.c, tcp_set_window_clamp()). The limit of a connection is raised
 * only: the kernel raises it by itself as the buffer grows.
 */
static void put_clamp_right(const struct socket_line *line, int copy, const struct option_type *type, struct option_value *was,
			    size_t *left)
{
	enum { HIGHEST = 65535 << 14 }; /* U16_MAX << TCP_MAX_WSCALE */
	struct option_value is;
	int wanted, found;

	memcpy(&wanted, was->bytes, sizeof(wanted));
	if (wanted <= 0 || wanted > HIGHEST)
		wanted = HIGHEST;
	for (int tries = 0; tries < 2; tries++) {
		if (option_get(copy, type, &is))
			return;
		memcpy(&found, is.bytes, sizeof(found));
		if (found <= 0 || found > HIGHEST)
			found = HIGHEST;
		if (found == wanted || (line->identity.remote.size && found > wanted))
			return;
		memcpy(was->bytes, &wanted, sizeof(wanted));
		if (option_set(copy, type, was))
			break;
	}
	if (line->identity.remote.size)
		return;
	tell(line, type, &is, was);
	(*left)++;
}

/* Returns the number of differences that are left. */
static size_t put_options_right(const struct sockets_found *found, const struct socket_line *line, int copy)
{
	const struct socket_set *set = &found->sets[line->set];
	const char *word = set->words;
	const struct option_type *type;
	struct option_value was, is;
	size_t left = 0;
	bool there;

	for (size_t i = 0; i < set->count; i++, word += strlen(word) + 1) {
		if (option_parse(word, &type, &was))
			continue;
		if (!strcmp(type->name, "SO_REUSEADDR") && !settle_reuse(found, line, &was))
			continue;
		if (!strcmp(type->name, "TCP_WINDOW_CLAMP")) {
			put_clamp_right(line, copy, type, &was, &left);
			continue;
		}
		there = !option_get(copy, type, &is);
		if (there ? same_value(&is, &was) : option_is_untold(type, &was, errno))
			continue;
		if (!option_set(copy, type, &was))
			there = !option_get(copy, type, &is);
		if (there && same_value(&is, &was))
			continue;
		tell(line, type, there ? &is : NULL, &was);
		left++;
	}
	return left;
}

static size_t put_membership_right(struct process_handle *handle, const struct membership_line *line)
{
	struct membership membership;
	CLEANUP_FD int copy = copy_of(handle, line->pid, line->number);

	if (membership_parse(line->words, line->count, &membership) || (copy >= 0 && !membership_put_right(copy, &membership)))
		return 0;
	printf("process %d descriptor %d: the membership of group %s on an interface (%s in hexadecimal) is lost (%s)\n", line->pid,
	       line->number, line->words[1], line->words[0], strerror(errno));
	return 1;
}

static size_t put_name_right(struct process_handle *handle, const struct name_line *line)
{
	CLEANUP_FD int copy = copy_of(handle, line->pid, line->number);
	int reason;

	if (copy >= 0 && !file_name_put_right(line->pid, copy, line->name))
		return 0;
	reason = errno;
	/* A process that runs may have closed the socket, or removed its file. */
	if ((copy < 0 || reason == ENOENT) && !stands_still(line->pid))
		return 0;
	printf("process %d descriptor %d: the file of the unix socket does not have its name (%s)\n", line->pid, line->number,
	       strerror(reason));
	return 1;
}

static size_t put_listener_right(struct process_handle *handle, const struct listener_line *line)
{
	CLEANUP_FD int copy = copy_of(handle, line->pid, line->number);

	/* One that is closed, or another one, has been told of. */
	if (copy < 0 || !listener_put_right(line->pid, line->number, copy, &line->noted))
		return 0;
	printf("process %d descriptor %d: the unix socket does not listen as user %u and group %u (%s)\n", line->pid, line->number,
	       line->noted.user, line->noted.group, strerror(errno));
	return 1;
}

size_t sockets_put_right(const struct sockets_found *found)
{
	struct process_handle handle = { .process = -1 };
	struct identity identity;
	size_t left = 0;

	for (size_t i = 0; i < found->sockets_count; i++) {
		const struct socket_line *line = &found->sockets[i];
		CLEANUP_FD int copy = copy_of(&handle, line->pid, line->number);

		if (copy < 0 || identify(copy, &identity) || !identity_equal(&identity, &line->identity)) {
			/* A process that runs may have closed it. */
			if (!stands_still(line->pid))
				continue;
			printf("process %d descriptor %d: the socket is another one, or closed\n", line->pid, line->number);
			left++;
		} else {
			left += put_options_right(found, line, copy);
		}
	}
	for (size_t i = 0; i < found->memberships_count; i++)
		left += put_membership_right(&handle, &found->memberships[i]);
	for (size_t i = 0; i < found->names_count; i++)
		left += put_name_right(&handle, &found->names[i]);
	for (size_t i = 0; i < found->listeners_count; i++)
		left += put_listener_right(&handle, &found->listeners[i]);
	close_fd(&handle.process);
	return left;
}
