/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_SAME_FILES_H
#define ENVIRONMENT_SAME_FILES_H

/* FILES_DIFFER: the first difference has been said. FILES_BROKEN: the list cannot be read, which has been said, too. */
enum same_files { FILES_SAME = 0, FILES_BROKEN = 1, FILES_DIFFER = 3 };

/*
 * Compares the files of a list (see identity.h) with what their paths lead to now. A symbolic link in the place of a file is not followed.
 *
 * `images`: those of a unit that has not run since the checkpoint, or NULL. What has been appended to its files is then from another
 * program; that is said, no difference, and the images are told.
 */
enum same_files same_files(const char *list, const char *images);

#endif
