/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What outlives the process: it begins anew, or goes on where a predecessor was killed, from the journal and the descriptors that the
 * service manager has stored. And the journal's own renewal, which a successor must be able to read.
 */
#ifndef PAGED_RECOVERY_H
#define PAGED_RECOVERY_H

#include "serve/server.h"

/* Whether a predecessor was killed after its work was done: there is nothing to do. */
bool predecessor_was_done(const struct server *server);
/*
 * Begins anew, or goes on where a predecessor ended; afterwards journal, tasks and their descriptors are there. -1 after saying why not.
 * If the application cannot be served any more, the phase says so.
 */
int begin_or_resume(struct server *server);

/* Writes the journal anew, without its events, if that is possible now. -1 after saying why it cannot be written. */
int renew_journal(struct server *server);

#endif
