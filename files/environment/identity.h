/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of the files that a unit has open or mapped: by it a restore tells files that were written since the checkpoint from those
 * that its memory belongs to. A list has a line for each file, which the freeze writes (note_files.c) and the restore compares
 * (same_files.c):
 *
 *     USE FSTYPE FSID INODE OWNER GROUP SIZE MODIFIED CHANGED BORN PATH
 *
 * The three times are nanoseconds since 1970. Words are separated by one blank; in PATH each byte that is not a printable ASCII character,
 * and each blank and percent sign, is %XX.
 */
#ifndef ENVIRONMENT_IDENTITY_H
#define ENVIRONMENT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* How a unit uses a file, the weakest use first. */
enum use {
	/* Mapped privately, as programs and libraries are. */
	USE_MAPPED = 'm',
	/* Written at its end only. */
	USE_APPENDED = 'p',
	USE_WRITTEN = 'w',
};

struct identity {
	enum use use;
	/* Of statfs(2); the second is 0 where it is made of the device's number, which the next kernel may give to another device. */
	uint64_t type, fsid;
	uint64_t inode;
	uint64_t owner, group;
	uint64_t size;
	int64_t modified, changed, born;
	char *path;
};

/* What statx(2) has to be asked for. */
#define IDENTITY_MASK (STATX_BASIC_STATS | STATX_BTIME)

/* Everything but use and path. `path` leads to the file, also through a link of /proc. -1 with errno. */
int identity_fill(struct identity *identity, const struct statx *status, const char *path);
int identity_write(FILE *stream, const struct identity *identity);
/* Takes a line apart, which it changes; the path stays in it. -1 if it is no such line. */
int identity_parse(struct identity *identity, char *line);

#endif
