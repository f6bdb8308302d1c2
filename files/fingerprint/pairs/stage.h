/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An empty file system as this process's root: sockets are bound there to paths of applications, whose own files nobody touches. */
#ifndef FINGERPRINT_STAGE_H
#define FINGERPRINT_STAGE_H

#include "pairs/pair.h"

/* Makes it the root, in a mount namespace of its own; `place` is any directory. -1 after saying why not. */
int stage_enter(const char *place);
/* Binds the socket to the name of the end; directories on the way are made. A socket that had the path keeps it. -1 with errno. */
int stage_bind(int socket, const struct pair_end *end);
/* Connects the socket to that name. -1 with errno. */
int stage_connect(int socket, const struct pair_end *end);

#endif
