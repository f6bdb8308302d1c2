/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What CRIU forgets of a mapping, and the process can ask for again (inject.h): wipe-on-fork, madvise(2). VALUE: START-END, as in /proc. */
#ifndef FINGERPRINT_MAPPINGS_H
#define FINGERPRINT_MAPPINGS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this is the name of one of them; NULL is none. */
bool mappings_know(const char *name);
/* -1 after saying what is wrong with the value, or why the mapping cannot get it. */
int mappings_set(pid_t process, const char *name, const char *value);

#endif
