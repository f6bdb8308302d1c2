/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of a unix socket that has got another name since the socket was bound, as haproxy gives it one. CRIU binds the socket to the
 * name that it knows, and there the file is after the restore.
 */
#ifndef FINGERPRINT_FILE_NAME_H
#define FINGERPRINT_FILE_NAME_H

#include <limits.h>
#include <stdio.h>

#include "base/processes.h"

/* As the process sees it: the directory, a real path, and in it the name that the socket was bound to and the one that its file has. */
struct file_name {
	char directory[PATH_MAX];
	char bound[NAME_MAX + 1], current[NAME_MAX + 1];
};

/* Writes "name PID DESCRIPTOR DIRECTORY BOUND CURRENT" where the names differ. */
void file_name_record(FILE *file, pid_t pid, int number, int socket);
/* Words from DIRECTORY on. -1: these are no names. */
int file_name_parse(char *const *words, size_t count, struct file_name *name);
/* Gives the file of the process's socket its name again. -1 with errno; EEXIST: something else has the name. */
int file_name_put_right(pid_t pid, int socket, const struct file_name *name);

#endif
