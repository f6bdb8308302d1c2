/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/facts.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Behind KIND, PROCESS and NUMBER. */
enum { FIRST_FACT = 3 };
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

void fact_write_value(FILE *file, const char *value)
{
	const char *separator = "";

	for (;;) {
		value += strspn(value, " \t\n");
		if (!*value)
			break;
		fputs(separator, file);
		separator = ",";
		for (; *value && !strchr(" \t\n", *value); value++)
			fputc(isgraph((unsigned char)*value) ? *value : '?', file);
	}
	if (!*separator)
		fputc('-', file);
}

void fact_write(FILE *file, const char *name, const char *value)
{
	fputc(' ', file);
	for (; *name; name++)
		fputc(strchr(NAME_LETTERS, *name) ? *name : '-', file);
	fputc('=', file);
	fact_write_value(file, value);
}

/* Whether it is NAME=VALUE, of what a word may have. */
static bool is_fact(const char *word)
{
	size_t length = strspn(word, NAME_LETTERS);

	if (!length || word[length] != '=' || !word[length + 1])
		return false;
	for (; *word; word++)
		if (!isgraph((unsigned char)*word))
			return false;
	return true;
}

char *facts_text(int (*write)(FILE *file, const void *of), const void *of, int *code)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory) {
		*code = fail("There is no memory for the fingerprint.");
		return NULL;
	}
	*code = write(memory, of);
	if (fclose(memory) && !*code)
		*code = fail("There is no memory for the fingerprint.");
	if (!*code)
		return text;
	free(text);
	return NULL;
}

int facts_take(struct facts *facts, struct words *words, const char *kind)
{
	struct facts_line line = { 0 };
	uint64_t process, number;

	if (strcmp(words->word[0], kind))
		return 1;
	if (words->count <= FIRST_FACT || parse_number(words->word[1], INT_MAX, &process) || !process ||
	    parse_number(words->word[2], INT_MAX, &number))
		return -1;
	for (size_t i = FIRST_FACT; i < words->count; i++)
		if (!is_fact(words->word[i]))
			return -1;
	line.process = (pid_t)process;
	line.number = (int)number;
	line.words = words->word[FIRST_FACT];
	line.count = words->count - FIRST_FACT;
	APPEND(facts->list, facts->count, line);
	return 0;
}

const char *fact_value(const char *words, size_t count, const char *name)
{
	size_t length = strlen(name);

	for (; count; count--, words += strlen(words) + 1)
		if (!strncmp(words, name, length) && words[length] == '=')
			return words + length + 1;
	return NULL;
}

static enum fact_kind kind_of(const struct fact_types *types, const char *name, size_t length)
{
	for (size_t i = 0; i < types->count; i++)
		if (!strncmp(types->list[i].name, name, length) && !types->list[i].name[length])
			return types->list[i].kind;
	return FACT_MOVES;
}

/* Whether no bit of the mask is missing now. */
static bool has_all(const char *now, const char *then)
{
	return !(strtoull(then, NULL, 16) & ~strtoull(now, NULL, 16));
}

size_t facts_compare(const struct facts_line *line, char *now, const struct fact_types *types, bool stands_still, const char *where)
{
	const char *word = line->words;
	struct words found;
	size_t different = 0;

	/* The writer puts a blank before each fact. */
	if (words_split(now + (*now == ' '), &found)) {
		printf("%s: what is told of it now cannot be compared\n", where);
		return 1;
	}
	for (size_t i = 0; i < line->count; i++, word += strlen(word) + 1) {
		const char *then = strchr(word, '=') + 1, *value;
		size_t length = (size_t)(then - 1 - word);
		enum fact_kind kind = kind_of(types, word, length);
		char name[64];

		if (kind != FACT_STAYS && !stands_still)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, word);
		value = fact_value(found.word[0], found.count, name);
		if (value ? !strcmp(value, then) || (kind == FACT_GROWS && has_all(value, then)) : kind == FACT_GROWS || kind == FACT_NEW)
			continue;
		printf("%s: %s is %s, was %s\n", where, name, value ? value : "not told", then);
		different++;
	}
	return different;
}

void facts_free(struct facts *facts)
{
	free(facts->list);
}
