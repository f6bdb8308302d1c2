/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of a process as a whole: session, process group, name, limits, timers, and how soon it is killed where memory runs out. */
#ifndef FINGERPRINT_WHOLE_H
#define FINGERPRINT_WHOLE_H

#include <stdio.h>

#include "base/facts.h"

/* What cannot be read is left out: the process has ended, or the kernel does not tell. */
void whole_write(FILE *file, pid_t process);
/* Sets of these facts what CRIU forgets, and anybody can set. */
void whole_put_right(const struct facts_line *line);

#endif
