/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_SYSCTL_H
#define ENVIRONMENT_SYSCTL_H

#include "place.h"

/* Writes the value where the kernel has another one. -1 with errno; ERANGE if the kernel has made another value of it. */
int sysctl_apply(const struct place *place, const struct step *step);

#endif
