/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of a thread that CRIU forgets and that can be set from outside. */
#ifndef FINGERPRINT_OUTSIDE_H
#define FINGERPRINT_OUTSIDE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the attribute of this name is one of them. */
bool outside_knows(const char *name);
/* Sets it; VALUE as /proc says it. -1 after saying why it cannot be set. */
int outside_set(pid_t thread, const char *name, const char *value);

#endif
