/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System V objects: shared memory, semaphores, message queues, with the numbers, keys, owners and contents that they had. All functions
 * return 0, or -1 with errno.
 */
#ifndef ENVIRONMENT_IPC_H
#define ENVIRONMENT_IPC_H

#include "place.h"

/* CRIU will make this segment: until then nobody is given its number. */
int ipc_segment(const struct place *place, const struct step *step);
int ipc_memory(const struct place *place, const struct step *step);
int ipc_semaphores(const struct place *place, const struct step *step);
int ipc_queue(const struct place *place, const struct step *step);
/* What an object gets after the restore: a lock in memory, or its removal when nobody has it attached any more. */
int ipc_settle(const struct place *place, const struct step *step);
/* Removes the object of a step for ipc_settle(): its unit starts fresh. */
int ipc_forget(const struct step *step);

#endif
