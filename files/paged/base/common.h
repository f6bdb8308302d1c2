/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every file here shares: the page size, errors as one sentence, and descriptors that close themselves. */
#ifndef PAGED_COMMON_H
#define PAGED_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE ((uint64_t)1 << PAGE_SHIFT)
/* The end of user space with five-level page tables; with four levels it is 2^47. */
#define ADDRESS_END ((uint64_t)1 << 56)
/* 8 TiB of memory in one round: more is a broken or hostile sender. Fits the u32 of old pagemap images. */
#define PAGES_MAX ((uint64_t)1 << 31)

/* Kinds of object whose pages are kept: the numbers of CRIU's page server (criu/page-xfer.c, PS_TYPE_*). */
enum object_type { OBJECT_TASK = 1, OBJECT_SHMEM = 2 };

/* Exit codes. EXIT_DAMAGED: everything that could be served was, but some pages were lost or wrong. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DAMAGED = 3, EXIT_NOT_RESTORED = 4 };

/* One sentence on stderr; returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, ending in errno's text. */
int fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory for the bookkeeping; ends the program if there is none (abort, so that a supervisor restarts it). */
void *take(size_t size);
void *take_more(void *old, size_t count, size_t size);

double seconds_now(void);
/* All of it, or -1 with errno (EIO if the file ends early). */
int read_all_at(int fd, void *buffer, size_t size, off_t offset);
/* Until all of the file is on the disk, its metadata aside; -1 with errno, also for what could not be given a place there. */
int wait_for_disk(int fd);
int write_all_at(int fd, const void *buffer, size_t size, off_t offset);
int write_all(int fd, const void *buffer, size_t size);
/* Opens a directory that only root (or the caller's own user) can enter; -1 after saying why not. */
int open_private_directory(const char *path);
/* Replaces NAME in the directory by these bytes, durably; -1 with errno. */
int replace_file(int directory, const char *name, const void *bytes, size_t size);

void close_fd(int *fd);
#define CLEANUP_FD __attribute__((cleanup(close_fd)))
void free_pointer(void *pointer);
#define CLEANUP_FREE __attribute__((cleanup(free_pointer)))

#endif
