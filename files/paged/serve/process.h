/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes by number, and telling them from later ones with the same number. */
#ifndef PAGED_PROCESS_H
#define PAGED_PROCESS_H

#include "base/pages.h"

/* When the process started, in clock ticks since boot; 0 if it is gone. */
uint64_t process_start_time(int32_t pid);
/* 0 if the process is gone, or its parent is in another namespace. */
int32_t process_parent(int32_t pid);
/* Kills the process if it is still the one that started then, and says so. */
void process_kill(int32_t pid, uint64_t start_time);
/* Whether the process is in this pid namespace, so that numbers mean the same. False if it is gone. */
bool process_shares_pid_namespace(int32_t pid);

#endif
