/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FINGERPRINT_LANDLOCK_H
#define FINGERPRINT_LANDLOCK_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "tasks/inject.h"

/* What all threads that are asked have in common. */
struct landlock {
	bool is_active;
	/* A process to look at, 0 if there is none, and its ids. A unit may have thousands of processes of the same user. */
	pid_t probe;
	unsigned int user, group;
};

void landlock_begin(struct landlock *landlock);
void landlock_end(struct landlock *landlock);

/*
 * Prints "THREAD landlock 1" if the stopped thread is in a Landlock domain. Nothing in /proc says so, but such a thread may not look at a
 * process outside of its domain which it could look at otherwise. -1 after saying what failed.
 */
int landlock_ask(struct landlock *landlock, struct injection *injection, FILE *into);

#endif
