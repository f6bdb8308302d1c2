/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all files: errors in one sentence, memory, descriptors that close themselves, and descriptors of other processes. */
#ifndef FINGERPRINT_COMMON_H
#define FINGERPRINT_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit codes. EXIT_DIFFERENT: all was compared, and something is left that could not be put right. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DIFFERENT = 3 };

/* Writes one sentence on stderr; returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory for `count` things of `size` bytes, with the content of `old`. Ends the program if there is none. */
void *take_more(void *old, size_t count, size_t size);

/* Closes the descriptor unless it is -1, and sets it to -1. Keeps errno. */
void close_fd(int *fd);
#define CLEANUP_FD __attribute__((cleanup(close_fd)))
void free_pointer(void *pointer);
#define CLEANUP_FREE __attribute__((cleanup(free_pointer)))

/* A number between 0 and `max`, and nothing else in `text`. -1 otherwise. */
int parse_number(const char *text, uint64_t max, uint64_t *number);

/* A handle of a process, for copy_descriptor(). -1 with errno. */
int open_process(pid_t pid);
/* Whether the process is stopped, by a signal or a tracer: it has not run since its restore. */
bool stands_still(pid_t pid);
/* A copy of this descriptor of the process: the same open file. -1 with errno. */
int copy_descriptor(int process, int number);

#endif
