/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page in the memory of a stopped thread's process, for arguments of system calls that it makes for us (inject.h). It is new, and is given back. */
#ifndef FINGERPRINT_SCRATCH_H
#define FINGERPRINT_SCRATCH_H

#include <stddef.h>

#include "tasks/inject.h"

enum { SCRATCH_SIZE = 4096 };

/* Maps it. *address is a negative error where the process may not have it. -1 after saying that the thread could not be asked. */
int scratch_begin(struct injection *injection, int64_t *address);
/* Writes or reads the first `size` bytes of it. -1 with errno. */
int scratch_write(const struct injection *injection, int64_t address, const void *bytes, size_t size);
int scratch_read(const struct injection *injection, int64_t address, void *bytes, size_t size);
/* Gives it back. -1 after saying why not. */
int scratch_end(struct injection *injection, int64_t address);

#endif
