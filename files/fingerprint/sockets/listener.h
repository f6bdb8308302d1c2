/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who listens at a unix socket: the kernel notes it of whoever calls listen(2), and tells each client that connects. CRIU makes that call
 * as root, before the process has its own rights again (criu/sk-unix.c); a client that looks at its server (PostgreSQL's requirepeer)
 * would be told another user.
 */
#ifndef FINGERPRINT_LISTENER_H
#define FINGERPRINT_LISTENER_H

#include <stdio.h>

#include "base/peer.h"

/* Writes a line of this descriptor, of which `socket` is a copy, if it listens and anybody but root is noted. */
void listener_record(FILE *file, pid_t pid, int number, int socket);
/* Has a process with these rights call listen(2) once more: that of the descriptor itself where it can. -1 with errno; 0 also if nothing listens. */
int listener_put_right(pid_t pid, int number, int socket, const struct peer *noted);

#endif
