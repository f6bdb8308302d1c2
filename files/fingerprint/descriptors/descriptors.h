/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The descriptors of a process that stands still:
 *   descriptor PROCESS NUMBER FACT...
 * Status flags that are not what they were are set again, and record locks taken. Sockets have lines of their own (sockets/record.h): there
 * may be tens of thousands.
 */
#ifndef FINGERPRINT_DESCRIPTORS_H
#define FINGERPRINT_DESCRIPTORS_H

#include <stdio.h>

#include "base/facts.h"

/* Writes a line for each descriptor that is no socket. -1 after saying why not; a process that has ended has none. */
int descriptors_record(FILE *file, pid_t process);
/* 1: the line tells of something else; -1: it is broken. */
int descriptors_take(struct facts *facts, struct words *words);
/* Returns the number of differences that are left; each has been printed on stdout. One that runs may have changed all of it. */
size_t descriptors_put_right(const struct facts *facts);

#endif
