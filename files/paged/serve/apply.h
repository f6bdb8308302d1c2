/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a slot of the journal means: the same when it has just come and when a successor replays it. */
#ifndef PAGED_APPLY_H
#define PAGED_APPLY_H

#include "serve/server.h"

/* criu/uffd.c: LAZY_PAGES_RESTORE_FINISHED, sent like a process id but larger than any. */
#define RESTORE_FINISHED 0x52535446

/*
 * Changes the tasks and the phase as the complete slot says. A task that it adds has no descriptor yet, and is the last one. -1 after
 * saying what cannot be.
 */
int apply_slot(struct server *server, const struct slot *slot);

#endif
