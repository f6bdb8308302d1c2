/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Timers of timerfd_create(2) of a process that stands still, where a restore would not make them as they were:
 *   timer PROCESS NUMBER at=SECONDS.NANOSECONDS interval=SECONDS.NANOSECONDS flags=NUMBER ticks=NUMBER
 * CRIU adds the time that is left to the time of the restore (criu/pie/restorer.c). One that was set to a time of the day would be late by the
 * outage, and one that was set to a time and is over ("at=off") would fire once more.
 */
#ifndef FINGERPRINT_TIMERS_H
#define FINGERPRINT_TIMERS_H

#include <stdio.h>

#include "base/facts.h"

/* Writes the line of a descriptor, if it needs one; `information` is the directory /proc/PID/fdinfo. */
void timers_write(FILE *file, pid_t process, const char *number, int information);
/* 1: the line tells of something else; -1: it is broken. */
int timers_take(struct facts *facts, struct words *words);
/* Sets those again that are not as they were. Returns the number of those that could not be set; each has been printed on stdout. */
size_t timers_put_right(const struct facts *facts);

#endif
