/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_APPLY_H
#define ENVIRONMENT_APPLY_H

#include "place.h"

/* What a run of steps has come to, as an exit code too. UNITS_LACK: nothing that the whole node needs. */
enum outcome { ALL_DONE = 0, NODE_LACKS = 1, UNITS_LACK = 3 };

/*
 * Carries out the steps of these kinds (a bit each), and all of them whatever fails. `run` is the folder in which failures are noted:
 * environment.log has a line for each, and UNIT.lacks the first sentence of each unit that has to do without something it needs, from
 * which its restore fails; what the whole node needs and lacks is said on stderr.
 */
enum outcome apply(const struct plan *plan, const struct place *place, unsigned int kinds, int run);

#endif
