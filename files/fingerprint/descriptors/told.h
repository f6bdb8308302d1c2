/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What /proc/PID/fd and fdinfo tell of a descriptor, as facts: its kind, and each line of fdinfo without identities. */
#ifndef FINGERPRINT_TOLD_H
#define FINGERPRINT_TOLD_H

#include <stdio.h>

/* The directories /proc/PID/fd and /proc/PID/fdinfo. */
struct told_of {
	int links, information;
};

/* 0; 1: there is no such descriptor; -1 after saying why it cannot be read. */
int told_write(FILE *file, const struct told_of *process, const char *number);

#endif
