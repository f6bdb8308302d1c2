/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread may do by its supplementary groups and capabilities, and whether a program that it executes may get more rights
 * (NoNewPrivs):
 *   task PROCESS THREAD NO-NEW-PRIVS GROUP,GROUP... INHERITABLE,PERMITTED,EFFECTIVE,BOUNDING,AMBIENT
 * "-" for no group. None is put right: a thread sets its groups with CAP_SETGID only, and never loses NoNewPrivs. What CRIU forgets, `set`
 * has set before (attributes.h).
 */
#ifndef FINGERPRINT_CREDENTIALS_H
#define FINGERPRINT_CREDENTIALS_H

#include <stdio.h>

#include "base/lines.h"

struct credentials_line {
	pid_t process, thread;
	bool no_new_privs;
	/* As the line has them; in the text that was read. */
	const char *groups, *capabilities;
};

struct credentials_found {
	struct credentials_line *lines;
	size_t count;
};

/* Writes a line for each thread that has not ended. -1 after saying why not. */
int credentials_record(FILE *file, pid_t process);
/* 1: the line tells of something else; -1: it is broken. */
int credentials_take(struct credentials_found *found, struct words *words);
/* Returns the number of differences; each has been printed on stdout. */
size_t credentials_compare(const struct credentials_found *found);
void credentials_free(struct credentials_found *found);

#endif
