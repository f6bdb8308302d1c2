/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The background transfer: which pages are installed before anybody asks for them, and when. Faults come first; after one, the pages
 * around it; the rest in growing chunks, the oldest task first.
 */
#ifndef PAGED_TRANSFERS_H
#define PAGED_TRANSFERS_H

#include "serve/server.h"

/* A fault was served: the next chunk is small again, and lies around it. */
void transfers_note_fault(struct transfers *transfers);

/*
 * Installs the next chunk, or lets go of the tasks that have all their pages. *busy: whether more can be done at once. When no task needs
 * a page any more, the phase changes.
 */
void transfers_step(struct server *server, bool *busy);
/* Milliseconds to wait for descriptors before the next step; -1: as long as it takes. */
int transfers_pause(const struct server *server, bool busy);

#endif
