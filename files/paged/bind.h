/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PAGED_BIND_H
#define PAGED_BIND_H

#include "common.h"

/* Installs the kept frames in the restored tree, which stands still; the exit code. */
int bind_tree(const char *images);

#endif
