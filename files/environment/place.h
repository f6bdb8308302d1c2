/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of file systems in memory: directories, files, FIFOs, links, attributes. Only below /run, /dev/shm and /tmp, and never through
 * a symbolic link: whoever made one there may have meant another file. All functions return 0, or -1 with errno.
 */
#ifndef ENVIRONMENT_PLACE_H
#define ENVIRONMENT_PLACE_H

#include "plan.h"

/* Where steps work. `root`: the root directory, another one in tests; `contents`: folder of the files' contents, or -1. */
struct place {
	int root;
	int contents;
};

int place_mount(const struct place *place, const struct step *step);
int place_directory(const struct place *place, const struct step *step);
int place_file(const struct place *place, const struct step *step);
int place_fifo(const struct place *place, const struct step *step);
int place_symlink(const struct place *place, const struct step *step);
int place_xattr(const struct place *place, const struct step *step);

/* Opens what is below `directory` without a link, a magic link or a way up on the way. */
int open_beneath(int directory, const char *path, int flags);

#endif
