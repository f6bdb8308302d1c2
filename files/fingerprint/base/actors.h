/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that were: the kernel notes of listen(2), connect(2) and socketpair(2) who has called them. So these are called by short-lived
 * processes with the old process ids and rights; a process id stays noted when the process is gone.
 */
#ifndef FINGERPRINT_ACTORS_H
#define FINGERPRINT_ACTORS_H

#include "base/peer.h"

/*
 * Has a process like this call act(context), which returns 0 or -1 with errno, and waits for it. It shares the descriptors. A process id
 * that is taken is an error where the process is to live again; otherwise any will do. -1 with errno.
 */
int act_as(const struct peer *peer, int (*act)(void *context), void *context);

#endif
