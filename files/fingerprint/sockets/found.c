/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/found.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sockets/memberships.h"

int option_parse(const char *word, const struct option_type **type, struct option_value *value)
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
		if (option_parse(words->word[2 + i], &type, &value))
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
	uint64_t expected, sent, window;
	pid_t pid;
	int number;

	if (words->count != 6 || parse_holder(words, &pid, &number) || parse_number(words->word[3], UINT32_MAX, &expected) ||
	    parse_number(words->word[4], UINT32_MAX, &sent) || parse_number(words->word[5], UINT16_MAX, &window))
		return -1;
	if (!line || line->pid != pid || line->number != number || line->is_open || !line->identity.remote.size)
		return -1;
	line->is_open = true;
	line->next = (struct sequences){ .expected = (uint32_t)expected, .sent = (uint32_t)sent, .window = (uint16_t)window };
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

static int take_listener(struct sockets_found *found, struct words *words)
{
	struct listener_line line = { 0 };

	if (words->count != 3 + PEER_WORDS || parse_holder(words, &line.pid, &line.number) || peer_parse(&line.noted, words->word + 3))
		return -1;
	APPEND(found->listeners, found->listeners_count, line);
	return 0;
}

int sockets_take(struct sockets_found *found, struct words *words)
{
	static const struct {
		const char *kind;
		int (*take)(struct sockets_found *found, struct words *words);
	} readers[] = {
		{ "options", take_options },	   { "socket", take_socket }, { "sequence", take_sequence },
		{ "membership", take_membership }, { "name", take_name },     { "listener", take_listener },
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(words->word[0], readers[i].kind))
			return readers[i].take(found, words);
	return 1;
}

void sockets_free(struct sockets_found *found)
{
	for (size_t i = 0; i < found->memberships_count; i++)
		free(found->memberships[i].words);
	for (size_t i = 0; i < found->names_count; i++)
		free(found->names[i].name);
	for (size_t i = 0; i < found->listeners_count; i++)
		free(found->listeners[i].noted.groups);
	free(found->listeners);
	free(found->names);
	free(found->memberships);
	free(found->sockets);
	free(found->sets);
}
