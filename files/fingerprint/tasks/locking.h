/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a process locks what it maps later (mlockall(2) with MCL_FUTURE). CRIU only locks again what is mapped already. */
#ifndef FINGERPRINT_LOCKING_H
#define FINGERPRINT_LOCKING_H

#include <stdio.h>

#include "tasks/inject.h"

#define LOCKING "lock-future"

/*
 * Prints "THREAD lock-future FLAGS" for mlockall(2) if the process of the stopped thread does. The kernel tells nobody, so the process maps a
 * page and gives it back. -1 after saying what failed.
 */
int locking_ask(struct injection *injection, FILE *into);

#endif
