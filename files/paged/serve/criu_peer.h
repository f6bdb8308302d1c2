/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CRIU's side: `criu restore --lazy-pages` connects to the socket lazy-pages.socket. For each task it sends the process id as four
 * bytes, then one byte with the task's userfaultfd; at the end RESTORE_FINISHED (apply.h) in place of a process id.
 */
#ifndef PAGED_CRIU_PEER_H
#define PAGED_CRIU_PEER_H

#include "serve/server.h"

/* Makes the listening socket in place of an old one, for root alone. -1 after saying why not. */
int open_listener(struct server *server);
/* Accepts CRIU's connection. Any other is refused: of another user, or a second one. */
void accept_connection(struct server *server);
/* Reads one message of the connection. -1 if the restore has failed, or serving cannot go on. */
int receive_message(struct server *server);

#endif
