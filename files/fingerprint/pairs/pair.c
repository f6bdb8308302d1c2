/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/pair.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lines.h"

struct pair *pairs_add(struct pairs *pairs)
{
	APPEND(pairs->list, pairs->count, ((struct pair){ 0 }));
	return &pairs->list[pairs->count - 1];
}

static void end_free(struct pair_end *end)
{
	for (size_t i = 0; i < end->units_count; i++)
		free(end->units[i]);
	free(end->units);
	free(end->peer.groups);
	free(end->messages);
}

void pairs_free(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		end_free(&pairs->list[i].ends[0]);
		end_free(&pairs->list[i].ends[1]);
	}
	free(pairs->list);
	memset(pairs, 0, sizeof(*pairs));
}

bool end_is_closed(const struct pair_end *end)
{
	return !end->inode;
}

uint64_t end_bytes(const struct pair_end *end)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < end->messages_count; i++)
		bytes += end->messages[i];
	return bytes;
}

bool name_is_path(const struct pair_end *end)
{
	return end->name_size && end->name[0];
}

int end_add_unit(struct pair_end *end, const char *unit)
{
	size_t length = strlen(unit);

	if (!length || length > UNIT_NAME_MAX || strpbrk(unit, " \n/") || end->units_count == PAIR_UNITS_MAX)
		return -1;
	end->units = take_more(end->units, end->units_count + 1, sizeof(*end->units));
	end->units[end->units_count] = take(length + 1);
	memcpy(end->units[end->units_count++], unit, length);
	return 0;
}

/* ---- writing ---- */

static void write_end(const struct pair_end *end, FILE *file)
{
	fprintf(file, "end %llu %d %d %d ", (unsigned long long)end->inode, end->nonblocking, end->reset, end->shut);
	value_write(file, end->name, end->name_size);
	fputc(' ', file);
	peer_write(&end->peer, file);
	fputc('\n', file);
	for (size_t i = 0; i < end->units_count; i++)
		fprintf(file, "unit %s\n", end->units[i]);
	for (size_t i = 0; i < end->messages_count; i++)
		fprintf(file, "message %u\n", end->messages[i]);
}

void pairs_write(const struct pairs *pairs, FILE *file)
{
	fputs(PAIRS_HEAD "\n", file);
	for (size_t i = 0; i < pairs->count; i++) {
		fprintf(file, "pair %d %d\n", pairs->list[i].type, pairs->list[i].is_accepted);
		write_end(&pairs->list[i].ends[0], file);
		write_end(&pairs->list[i].ends[1], file);
	}
}

/* ---- reading ---- */

struct reading {
	struct pairs *pairs;
	size_t ends; /* of the last pair */
};

static int take_pair(struct reading *reading, struct words *words)
{
	uint64_t type, accepted;
	struct pair *pair;

	if (words->count != 3 || parse_number(words->word[1], SOCK_SEQPACKET, &type) || (type != SOCK_STREAM && type != SOCK_SEQPACKET) ||
	    parse_number(words->word[2], 1, &accepted) || (reading->pairs->count && reading->ends != 2) || reading->pairs->count == PAIRS_MAX)
		return -1;
	pair = pairs_add(reading->pairs);
	pair->type = (int)type;
	pair->is_accepted = accepted;
	reading->ends = 0;
	return 0;
}

/* Of a name: none, an abstract one, or a path without a NUL in it. */
static int take_name(struct pair_end *end, const char *word)
{
	ssize_t size = value_read(word, end->name, sizeof(end->name));

	if (size < 0 || (size && end->name[0] && memchr(end->name, '\0', (size_t)size)))
		return -1;
	end->name_size = (size_t)size;
	return 0;
}

static int take_end(struct reading *reading, struct words *words)
{
	uint64_t inode, nonblocking, reset, shut;
	struct pair *pair;
	struct pair_end *end;

	if (words->count != 6 + PEER_WORDS || !reading->pairs->count || reading->ends == 2)
		return -1;
	pair = &reading->pairs->list[reading->pairs->count - 1];
	end = &pair->ends[reading->ends];
	if (parse_number(words->word[1], UINT32_MAX, &inode) || parse_number(words->word[2], 1, &nonblocking) ||
	    parse_number(words->word[3], 1, &reset) || parse_number(words->word[4], SHUT_DOWN_RECEIVE | SHUT_DOWN_SEND, &shut) ||
	    take_name(end, words->word[5]) || peer_parse(&end->peer, words->word + 6))
		return -1;
	end->inode = inode;
	end->nonblocking = nonblocking;
	end->reset = reset;
	end->shut = (int)shut;
	end->offset = reading->pairs->bytes;
	reading->ends++;
	/* One that was accepted has the name of its listener. */
	return pair->is_accepted && reading->ends == ACCEPTED + 1 && !end->name_size ? -1 : 0;
}

static int take_message(struct pairs *pairs, int type, struct pair_end *end, const char *word)
{
	uint64_t length;

	if (parse_number(word, PAIRS_BYTES_MAX - pairs->bytes, &length) || !length || end->messages_count == MESSAGES_MAX ||
	    (type == SOCK_STREAM && end->messages_count) || end_is_closed(end))
		return -1;
	APPEND(end->messages, end->messages_count, (uint32_t)length);
	pairs->bytes += length;
	return 0;
}

static int read_line(struct words *words, void *context)
{
	struct reading *reading = context;
	struct pair *pair;
	struct pair_end *end;

	if (!strcmp(words->word[0], "pair"))
		return take_pair(reading, words);
	if (!strcmp(words->word[0], "end"))
		return take_end(reading, words);
	if (!reading->pairs->count || !reading->ends || words->count != 2)
		return -1;
	pair = &reading->pairs->list[reading->pairs->count - 1];
	end = &pair->ends[reading->ends - 1];
	if (!strcmp(words->word[0], "unit"))
		return end_is_closed(end) ? -1 : end_add_unit(end, words->word[1]);
	return strcmp(words->word[0], "message") ? -1 : take_message(reading->pairs, pair->type, end, words->word[1]);
}

int pairs_parse(struct pairs *pairs, char *text, size_t size, const char *name)
{
	struct reading reading = { .pairs = pairs };

	memset(pairs, 0, sizeof(*pairs));
	if (lines_each(text, size, name, PAIRS_HEAD, read_line, &reading))
		return -1;
	if (pairs->count && reading.ends != 2)
		return fail("The file %s ends within a pair.", name);
	for (size_t i = 0; i < pairs->count; i++)
		if (end_is_closed(&pairs->list[i].ends[0]) && end_is_closed(&pairs->list[i].ends[1]))
			return fail("The file %s has a pair without an end.", name);
	return 0;
}
