/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of file systems in memory: directories, files, FIFOs, links, attributes. Only below /run, /dev/shm and /tmp; in the view of a
 * unit with mounts of its own, only in directories that nobody else sees. Never through a symbolic link: whoever made one there may have
 * meant another file. All functions return 0, or -1 with errno.
 */
#ifndef ENVIRONMENT_PLACE_H
#define ENVIRONMENT_PLACE_H

#include "plan.h"

/*
 * Where steps work. `root`: the root directory, another one in tests; `contents`: folder of the files' contents, or -1. `view`: the plan
 * of a unit in whose view, as `root`, they work: nothing is put anywhere but below the objects of its steps "private". NULL: the node.
 */
struct place {
	int root;
	int contents;
	const struct plan *view;
};

int place_mount(const struct place *place, const struct step *step);
int place_directory(const struct place *place, const struct step *step);
int place_file(const struct place *place, const struct step *step);
int place_fifo(const struct place *place, const struct step *step);
int place_symlink(const struct place *place, const struct step *step);
int place_hardlink(const struct place *place, const struct step *step);
int place_xattr(const struct place *place, const struct step *step);
/* Fails with EBUSY where the directory is the node's own. */
int place_private(const struct place *place, const struct step *step);

/* Opens what is below `directory` without a link, a magic link or a way up on the way. */
int open_beneath(int directory, const char *path, int flags);

#endif
