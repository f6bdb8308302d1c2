/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel tells of each thread, and of the process as a whole with its first thread:
 *   thread PROCESS THREAD FACT...
 * Names are those of /proc/PID/status (proc_pid_status(5)), and others from threads.c. None is put right: what CRIU forgets, `set` has set
 * before (attributes.h).
 */
#ifndef FINGERPRINT_THREADS_H
#define FINGERPRINT_THREADS_H

#include <stdio.h>

#include "base/facts.h"

/* Writes a line for each thread that has not ended. -1 after saying why not. */
int threads_record(FILE *file, pid_t process);
/* 1: the line tells of something else; -1: it is broken. */
int threads_take(struct facts *facts, struct words *words);
/* Returns the number of differences that are left; each has been printed on stdout. */
size_t threads_put_right(const struct facts *facts);

#endif
