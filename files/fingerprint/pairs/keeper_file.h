/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of the process that holds connections (keeper.h), as others read it. */
#ifndef FINGERPRINT_KEEPER_FILE_H
#define FINGERPRINT_KEEPER_FILE_H

#include "base/processes.h"

#define KEEPER_HEAD "kup-keeper 1"

struct kept_end {
	uint32_t inode;
	int number;
};

struct keeper_file {
	const char *unit; /* whose ends are wanted */
	pid_t pid;
	uint64_t start;
	struct kept_end *ends;
	size_t count;
};

/* Ticks since the boot at which the process was started (proc(5), starttime). -1 with errno. */
int process_start(pid_t pid, uint64_t *start);
/* Reads what the file says of the unit; of all units if it is NULL. -1 after saying why not. Free the ends in any case. */
int keeper_read(struct keeper_file *keeper, const char *unit, const char *path);
/* A handle of the process. -1 with errno; ESRCH: it has ended. */
int keeper_open(const struct keeper_file *keeper);

#endif
