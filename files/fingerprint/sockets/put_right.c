/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/put_right.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "sockets/memberships.h"
#include "sockets/options.h"

/* ---- reading ---- */

/* "NAME=VALUE" → its type and value. -1: it is no such word. */
static int parse_option(const char *word, const struct option_type **type, struct option_value *value)
{
	const char *text = strchr(word, '=');
	char name[64], *end;
	ssize_t index, size;
	long number;
	int as_int;

	if (!text || (size_t)(text - word) >= sizeof(name))
		return -1;
	memcpy(name, word, (size_t)(text - word));
	name[text - word] = '\0';
	index = option_find(name);
	if (index < 0)
		return -1;
	*type = &option_types[index];
	text++;
	if ((*type)->kind != VALUE_NUMBER) {
		size = value_read(text, value->bytes, sizeof(value->bytes));
		value->size = size < 0 ? 0 : (size_t)size;
		return size < 0 ? -1 : 0;
	}
	errno = 0;
	number = strtol(text, &end, 10);
	if (!*text || *end || errno || number < INT_MIN || number > INT_MAX)
		return -1;
	as_int = (int)number;
	memcpy(value->bytes, &as_int, sizeof(as_int));
	value->size = sizeof(as_int);
	return 0;
}

static int take_options(struct sockets_found *found, struct words *words)
{
	struct socket_set set = { 0 };
	const struct option_type *type;
	struct option_value value;
	uint64_t number;

	/* The numbers count from 0: a set that is named is there. */
	if (words->count < 3 || parse_number(words->word[1], SIZE_MAX, &number) || number != found->sets_count)
		return -1;
	if (strcmp(words->word[2], "-")) {
		set.words = words->word[2];
		set.count = words->count - 2;
	}
	for (size_t i = 0; i < set.count; i++)
		if (parse_option(words->word[2 + i], &type, &value))
			return -1;
	APPEND(found->sets, found->sets_count, set);
	return 0;
}

static int parse_end(const char *word, struct end *end)
{
	ssize_t size = value_read(word, &end->address, sizeof(end->address));

	end->size = (socklen_t)(size < 0 ? 0 : size);
	return size < 0 ? -1 : 0;
}

/* Whether the set has this option; its value. */
static bool in_set(const struct socket_set *set, const char *name, int *number)
{
	const char *word = set->words;
	size_t length = strlen(name);

	for (size_t i = 0; i < set->count; i++, word += strlen(word) + 1)
		if (!strncmp(word, name, length) && word[length] == '=') {
			*number = atoi(word + length + 1);
			return true;
		}
	return false;
}

static int parse_holder(struct words *words, pid_t *pid, int *number)
{
	uint64_t values[2];

	if (parse_number(words->word[1], INT_MAX, &values[0]) || !values[0] || parse_number(words->word[2], INT_MAX, &values[1]))
		return -1;
	*pid = (pid_t)values[0];
	*number = (int)values[1];
	return 0;
}

static int take_socket(struct sockets_found *found, struct words *words)
{
	struct socket_line line = { 0 };
	uint64_t values[4];
	int reuse;

	if (words->count != 9 || parse_holder(words, &line.pid, &line.number))
		return -1;
	for (size_t i = 0; i < 3; i++)
		if (parse_number(words->word[3 + i], INT_MAX, &values[i]))
			return -1;
	line.identity.family = (int)values[0];
	line.identity.type = (int)values[1];
	line.identity.protocol = (int)values[2];
	if (parse_end(words->word[6], &line.identity.local) || parse_end(words->word[7], &line.identity.remote) ||
	    !found->sets_count || parse_number(words->word[8], found->sets_count - 1, &values[3]))
		return -1;
	line.set = (size_t)values[3];
	if (!line.identity.remote.size && in_set(&found->sets[line.set], "SO_REUSEADDR", &reuse) && (reuse == 0 || reuse == 1))
		found->reuse[end_port(&line.identity.local)] = (unsigned char)(reuse + 1);
	APPEND(found->sockets, found->sockets_count, line);
	return 0;
}

/* Of the connection in the line before. */
static int take_sequence(struct sockets_found *found, struct words *words)
{
	struct socket_line *line = found->sockets_count ? &found->sockets[found->sockets_count - 1] : NULL;
	uint64_t expected;
	pid_t pid;
	int number;

	if (words->count != 4 || parse_holder(words, &pid, &number) || parse_number(words->word[3], UINT32_MAX, &expected))
		return -1;
	if (!line || line->pid != pid || line->number != number || line->is_open || !line->identity.remote.size)
		return -1;
	line->is_open = true;
	line->expected = (uint32_t)expected;
	return 0;
}

static int take_membership(struct sockets_found *found, struct words *words)
{
	struct membership_line line = { 0 };
	struct membership membership;

	if (words->count < 6 || parse_holder(words, &line.pid, &line.number) ||
	    membership_parse(words->word + 3, words->count - 3, &membership))
		return -1;
	line.count = words->count - 3;
	line.words = take_more(NULL, line.count, sizeof(*line.words));
	memcpy(line.words, words->word + 3, line.count * sizeof(*line.words));
	APPEND(found->memberships, found->memberships_count, line);
	return 0;
}

static int take_name(struct sockets_found *found, struct words *words)
{
	struct name_line line = { 0 };

	if (words->count != 6 || parse_holder(words, &line.pid, &line.number))
		return -1;
	line.name = take(sizeof(*line.name));
	/* Kept also if it is refused: it is freed with the others. */
	APPEND(found->names, found->names_count, line);
	return file_name_parse(words->word + 3, words->count - 3, line.name);
}

int sockets_take(struct sockets_found *found, struct words *words)
{
	if (!strcmp(words->word[0], "options"))
		return take_options(found, words);
	if (!strcmp(words->word[0], "socket"))
		return take_socket(found, words);
	if (!strcmp(words->word[0], "sequence"))
		return take_sequence(found, words);
	if (!strcmp(words->word[0], "membership"))
		return take_membership(found, words);
	if (!strcmp(words->word[0], "name"))
		return take_name(found, words);
	return 1;
}

/* ---- putting right ---- */

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
		if (parse_option(word, &type, &was))
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
	close_fd(&handle.process);
	return left;
}

void sockets_free(struct sockets_found *found)
{
	for (size_t i = 0; i < found->memberships_count; i++)
		free(found->memberships[i].words);
	for (size_t i = 0; i < found->names_count; i++)
		free(found->names[i].name);
	free(found->names);
	free(found->memberships);
	free(found->sockets);
	free(found->sets);
}
