/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Record locks of fcntl(2) that a restored process lacks; it takes them again itself. CRIU forgets those on a descriptor that another process
 * of the tree has as well (criu/files.c, discard_dup_locks_tail()), and on a file that the process has mapped: whoever closes any
 * descriptor of a file loses its locks.
 */
#ifndef FINGERPRINT_LOCKS_H
#define FINGERPRINT_LOCKS_H

#include <sys/types.h>

/*
 * Takes the record locks among `then` that are not among `now`, both as told.c writes them ("KIND,ADVISORY,READ,FIRST,LAST;..."), on this
 * descriptor. What it could not take is a difference that is left.
 */
void locks_put_right(pid_t process, int number, const char *then, const char *now);

#endif
