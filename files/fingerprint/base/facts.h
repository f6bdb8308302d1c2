/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: what is observed of a thread, a process or a descriptor, as words NAME=VALUE behind the numbers of a line. */
#ifndef FINGERPRINT_FACTS_H
#define FINGERPRINT_FACTS_H

#include <stdio.h>

#include "base/lines.h"

enum fact_kind {
	FACT_STAYS, /* compared in any case */
	FACT_MOVES, /* a process that runs may have changed it */
	FACT_GROWS, /* the same; a mask in hexadecimal, not always told, of which bits may come and none may go */
	FACT_NEW,   /* the same; not always told */
};

struct fact_type {
	const char *name;
	enum fact_kind kind;
};

/* Facts of one kind of things; those that are not in the list are FACT_MOVES. */
struct fact_types {
	const struct fact_type *list;
	size_t count;
};

/* A line: `number` is that of a thread or a descriptor of the process. */
struct facts_line {
	pid_t process;
	int number;
	/* `count` words, each behind the NUL of the one before; in the text that was read. */
	const char *words;
	size_t count;
};

struct facts {
	struct facts_line *list;
	size_t count;
};

/* Writes text of the kernel as one word: its parts with commas between, "-" for none, and "?" for what no word may have. */
void fact_write(FILE *file, const char *name, const char *value);
/* The same of the value alone. */
void fact_write_value(FILE *file, const char *value);
/* What `write` writes of the thing `of`, as text to be freed. NULL, with `*code` as that of `write`, or -1 after saying that there is no memory. */
char *facts_text(int (*write)(FILE *file, const void *of), const void *of, int *code);
/* Takes "KIND PROCESS NUMBER FACT..." if it is of this kind. 1: it is not; -1: it is broken. */
int facts_take(struct facts *facts, struct words *words, const char *kind);
/*
 * Compares with the facts `now` (split in place), and prints what differs behind `where`. Returns the number of differences. Facts that the
 * kernel of the record did not tell are no differences.
 */
size_t facts_compare(const struct facts_line *line, char *now, const struct fact_types *types, bool stands_still, const char *where);
/* The value of a fact among `count` words; NULL if it is not there. */
const char *fact_value(const char *words, size_t count, const char *name);
void facts_free(struct facts *facts);

#endif
