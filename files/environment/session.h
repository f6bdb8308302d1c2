/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_SESSION_H
#define ENVIRONMENT_SESSION_H

#include <sys/types.h>

/*
 * Runs the command `argv` (a path and its words, up to NULL) as the leader of a session and process group with the id `session`, which no
 * process may have. What it leaves behind stays in them when it has ended, as a daemon that has forked twice. Returns its exit code, 128 and
 * the signal that has ended it, or -1.
 */
int run_in_session(pid_t session, char *const *argv);

#endif
