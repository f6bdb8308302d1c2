/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FINGERPRINT_LANDLOCK_H
#define FINGERPRINT_LANDLOCK_H

#include <stdio.h>

#include "tasks/inject.h"

/*
 * Prints "THREAD landlock 1" if the stopped thread is in a Landlock domain. Nothing in /proc says so, but such a thread may not look at a
 * process outside of its domain which it could look at otherwise. -1 after saying what failed.
 */
int landlock_ask(struct injection *injection, FILE *into);

#endif
