/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other processes: handles of them, copies of their descriptors, and whether they have run. */
#ifndef FINGERPRINT_PROCESSES_H
#define FINGERPRINT_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base.h"

/* One more exit code: all was compared, and something is left that could not be put right. */
enum { EXIT_DIFFERENT = 3 };

/* A handle of a process, for copy_descriptor(). -1 with errno. */
int open_process(pid_t pid);
/* Reads the beginning of a file, with a NUL behind it; `text` is empty where that cannot be. -1 with errno. */
int read_beginning(const char *path, char *text, size_t size);
/* The letter of the thread's state, as proc_pid_stat(5) has it; 0: it is gone. */
char state_of(pid_t thread);
/* Whether the thread is gone, is on its way out, or is only waited for. */
bool has_ended(pid_t thread);
/* Whether the process is stopped, by a signal or a tracer: it has not run since its restore. */
bool stands_still(pid_t pid);
/* A copy of this descriptor of the process: the same open file. -1 with errno. */
int copy_descriptor(int process, int number);

/* The handle of the process that was asked last; `process` is -1 at first. */
struct process_handle {
	pid_t pid;
	int process;
};

/* A copy of this descriptor; the handle is kept for the next one. -1 with errno. */
int copy_of(struct process_handle *handle, pid_t pid, int number);
/* The inode of the socket behind an entry of /proc/PID/fd, the open `directory`; 0: it is none. */
uint64_t socket_inode(int directory, const char *name);

#endif
