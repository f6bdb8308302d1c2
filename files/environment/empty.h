/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_EMPTY_H
#define ENVIRONMENT_EMPTY_H

/*
 * Removes what is in the directory, however deep, and nothing behind a symbolic link or in another mount. What something is mounted over
 * stays. -1 with errno.
 */
int empty_directory(int directory);

#endif
