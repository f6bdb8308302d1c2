/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `paged bind`: the recorded frames become the memory of the restored tree. */
#ifndef PAGED_BIND_H
#define PAGED_BIND_H

#include "base/pages.h"

/* Binds the frames of all tasks listed in `images`; the restored tree must stand still. The exit code. */
int bind_tree(const char *images);

#endif
