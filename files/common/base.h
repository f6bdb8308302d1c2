/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all programs: errors in one sentence, memory, numbers, complete reads and writes, descriptors that close themselves. */
#ifndef COMMON_BASE_H
#define COMMON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit codes. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Writes one sentence on stderr; returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, ending in errno's text. */
int fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as fail(), of something that is no error. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory for the bookkeeping. Aborts the program if there is none, so that its supervisor restarts it. */
void *take(size_t size);
/* Memory for `count` things of `size` bytes, with the content of `old`. */
void *take_more(void *old, size_t count, size_t size);

/* A number between 0 and `max`, and nothing else in `text`. -1 otherwise. */
int parse_number(const char *text, uint64_t max, uint64_t *number);

/* Seconds of CLOCK_MONOTONIC. */
double seconds_now(void);
/* Reads or writes all bytes at this place of the file. -1 with errno; EIO if the file ends early. */
int read_all_at(int fd, void *buffer, size_t size, off_t offset);
/* Waits until all of the file's content is on the disk. -1 with errno, also if the disk has no place for it. */
int wait_for_disk(int fd);
int write_all_at(int fd, const void *buffer, size_t size, off_t offset);
int write_all(int fd, const void *buffer, size_t size);
/* Opens a path from a directory on, by rules for the way there (RESOLVE_*, openat2(2)). -1 with errno. */
int open_resolved(int directory, const char *path, int flags, uint64_t resolve);
/* Opens a directory that only root (or the caller's own user) can enter. -1 after saying why not. */
int open_private_directory(const char *path);
/* Replaces the file `name` in the directory by these bytes, durably. -1 with errno. */
int replace_file(int directory, const char *name, const void *bytes, size_t size);

/* Closes the descriptor unless it is -1, and sets it to -1. Keeps errno. */
void close_fd(int *fd);
#define CLEANUP_FD __attribute__((cleanup(close_fd)))
void free_pointer(void *pointer);
#define CLEANUP_FREE __attribute__((cleanup(free_pointer)))

#endif
