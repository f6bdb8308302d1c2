/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only a process itself can tell or set: asked before the freeze, and set again after the restore (inject.h). */
#ifndef FINGERPRINT_ATTRIBUTES_H
#define FINGERPRINT_ATTRIBUTES_H

#include <stdio.h>

/*
 * Prints a line "THREAD NAME VALUE" for each attribute of the processes that is not the kernel's default. -1 after saying why a process
 * cannot be asked.
 */
int attributes_ask(int count, char **processes, FILE *into);
/* Sets what the lines of the file say. All of them are tried; -1 after saying what could not be set. */
int attributes_set(const char *path);

#endif
