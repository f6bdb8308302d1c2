/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test helper: plays CRIU's side of the page server protocol and writes the one image that paged reads. */
#ifndef TEST_SNAPSHOT_H
#define TEST_SNAPSHOT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

struct area {
	uint64_t start;
	uint64_t pages;
	/* Besides those of private, anonymous memory: mmap(2)'s flags, and CRIU's status (criu/include/image.h). */
	uint32_t flags, status;
};

/* mm-PID.img with these areas. */
void write_mm(const char *directory, int pid, const struct area *areas, size_t count);

/* Starts `paged store` on a socket pair; our end. More arguments end with NULL. */
int start_store(const char *paged, pid_t *store, const char *const *arguments);
/* One request in the 24 or 32 byte form. */
void send_request(int socket, int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object);
void send_bytes(int socket, const void *bytes, size_t size);
/* Waits for the answer; 0 if it came whole. */
int receive_bytes(int socket, void *bytes, size_t size);
/* Exit code of a child, or 128 + signal. */
int exit_code(pid_t pid);

#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

#endif
