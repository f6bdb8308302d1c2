/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/inject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/processes.h"

#ifndef __x86_64__
#error "registers and instructions here are those of x86-64"
#endif

#define NO_SYSTEM_CALL ((unsigned long long)-1)
/* The code segment of 64-bit programs (arch/x86/include/asm/segment.h). */
#define USER_CS 0x33
/* Of the kernel's signal mask. */
#define MASK_SIZE 8
/* How long a thread may take to stop: it cannot while it waits for a disk. */
#define PATIENCE_MS 5000
/* More of an area is not searched. */
#define SEARCHED ((size_t)1 << 20)

/* syscall; no other instruction need begin there. */
static const uint8_t instruction[] = { 0x0f, 0x05 };

static int search(int memory, uint64_t start, uint64_t end, uint64_t *found)
{
	size_t size = end - start > SEARCHED ? SEARCHED : (size_t)(end - start);
	CLEANUP_FREE uint8_t *bytes = take_more(NULL, 1, size);
	const uint8_t *at;

	if (pread(memory, bytes, size, (off_t)start) != (ssize_t)size)
		return -1;
	at = memmem(bytes, size, instruction, sizeof(instruction));
	if (!at)
		return -1;
	*found = start + (uint64_t)(at - bytes);
	return 0;
}

/* Whether the line of /proc/PID/maps is about readable code. */
static bool parse_area(const char *line, uint64_t *start, uint64_t *end)
{
	char rights[5];

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", start, end, rights) == 3 && rights[0] == 'r' && rights[2] == 'x' &&
	       *start < *end && *end < INT64_MAX;
}

/* Searches the areas whose lines have this text in them. */
static int search_areas(pid_t thread, int memory, const char *text, uint64_t *found)
{
	char path[64], *line = NULL;
	uint64_t start, end;
	size_t room = 0;
	int result = -1;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", thread);
	maps = fopen(path, "re");
	if (!maps)
		return -1;
	while (result && getline(&line, &room, maps) > 0)
		if (strstr(line, text) && parse_area(line, &start, &end))
			result = search(memory, start, end, found);
	free(line);
	fclose(maps);
	return result;
}

/* Looks in the vdso first: it is there in almost every process, and is no file. */
static int find_instruction(pid_t thread, uint64_t *found)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", thread);
	CLEANUP_FD int memory = open(path, O_RDONLY | O_CLOEXEC);

	if (memory < 0)
		return fail("The memory of thread %d cannot be read: %s.", thread, strerror(errno));
	if (search_areas(thread, memory, "[vdso]", found) && search_areas(thread, memory, "", found))
		return fail("Thread %d has no readable instruction for a system call in its memory.", thread);
	return 0;
}

/* Waits for a stop of the thread, or its end. */
static int await_stop(pid_t thread, int *status)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	double give_up = seconds_now() + PATIENCE_MS / 1e3;

	for (;;) {
		pid_t waited = waitpid(thread, status, __WALL | WNOHANG);

		if (waited < 0 && errno != EINTR)
			return fail("Thread %d cannot be waited for: %s.", thread, strerror(errno));
		if (waited == thread)
			return WIFSTOPPED(*status) ? 0 : fail("Thread %d has ended.", thread);
		if (seconds_now() > give_up)
			return fail("Thread %d does not stop within %d ms.", thread, PATIENCE_MS);
		nanosleep(&pause, NULL);
	}
}

/* Waits for the stop that PTRACE_INTERRUPT or a stop of the whole process makes. Signals that come before it are delivered. */
static int await_interrupt(pid_t thread)
{
	int status;

	for (;;) {
		if (await_stop(thread, &status))
			return -1;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		if (ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)(status >> 16 ? 0 : WSTOPSIG(status))))
			return fail("Thread %d cannot go on: %s.", thread, strerror(errno));
	}
}

static int registers(pid_t thread, unsigned long long *values, bool set)
{
	struct iovec place = { .iov_base = values, .iov_len = REGISTERS * sizeof(*values) };

	if (ptrace(set ? PTRACE_SETREGSET : PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &place))
		return fail("The registers of thread %d cannot be %s: %s.", thread, set ? "set" : "read", strerror(errno));
	return 0;
}

static int read_memory(pid_t thread, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = { .iov_base = bytes, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size }; /* NOLINT */

	return process_vm_readv(thread, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

/*
 * A thread that was stopped in a restartable sequence has to begin it again. The kernel sees to that when the thread goes on in the
 * sequence; with other registers meanwhile it would forget that there was one.
 */
static void leave_sequence(pid_t thread, unsigned long long *values)
{
	struct __ptrace_rseq_configuration area;
	struct rseq_cs sequence;
	uint64_t pointer;

	/* No sequence contains a system call; before 5.13 there is nothing to ask, and no C library that uses them. */
	if (values[ORIG_RAX] != NO_SYSTEM_CALL ||
	    ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, (void *)sizeof(area), &area) != sizeof(area) || !area.rseq_abi_pointer)
		return;
	if (read_memory(thread, area.rseq_abi_pointer + offsetof(struct rseq, rseq_cs), &pointer, sizeof(pointer)) || !pointer ||
	    read_memory(thread, pointer, &sequence, sizeof(sequence)))
		return;
	if (values[RIP] - sequence.start_ip < sequence.post_commit_offset)
		values[RIP] = sequence.abort_ip;
}

static int mask_signals(pid_t thread, uint64_t *mask)
{
	if (ptrace(PTRACE_SETSIGMASK, thread, (void *)MASK_SIZE, mask))
		return fail("The signal mask of thread %d cannot be set: %s.", thread, strerror(errno));
	return 0;
}

int inject_begin(struct injection *injection, pid_t thread)
{
	uint64_t all = UINT64_MAX;

	*injection = (struct injection){ .thread = thread };
	if (find_instruction(thread, &injection->instruction))
		return -1;
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_SUSPEND_SECCOMP)))
		return fail("Thread %d cannot be traced: %s.", thread, strerror(errno));
	/* Where the thread does not stop, the end of this program ends the tracing. */
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL))
		return fail("Thread %d cannot be stopped: %s.", thread, strerror(errno));
	if (await_interrupt(thread))
		return -1;
	if (registers(thread, injection->before, false))
		goto detach;
	if (injection->before[CS] != USER_CS) {
		fail("Thread %d runs a 32-bit program.", thread);
		goto detach;
	}
	leave_sequence(thread, injection->before);
	/* A mask that a system call has set for its own time is left: it sets it again. */
	if (ptrace(PTRACE_GETSIGMASK, thread, (void *)MASK_SIZE, &injection->mask)) {
		fail("The signal mask of thread %d cannot be read: %s.", thread, strerror(errno));
		goto detach;
	}
	if (mask_signals(thread, &all))
		goto detach;
	return 0;
detach:
	ptrace(PTRACE_DETACH, thread, NULL, NULL);
	return -1;
}

/* Lets the thread run to the next border of its system call. */
static int run_to_border(pid_t thread)
{
	int status;

	do {
		if (ptrace(PTRACE_SYSCALL, thread, NULL, NULL))
			return fail("Thread %d cannot go on: %s.", thread, strerror(errno));
		if (await_stop(thread, &status))
			return -1;
		/* A stop of the whole process may come first. */
	} while (status >> 16 == PTRACE_EVENT_STOP);
	return WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : fail("Thread %d has got signal %d.", thread, WSTOPSIG(status));
}

int inject_call(struct injection *injection, long number, const uint64_t arguments[6], int64_t *result)
{
	unsigned long long values[REGISTERS];
	pid_t thread = injection->thread;

	memcpy(values, injection->before, sizeof(values));
	values[ORIG_RAX] = NO_SYSTEM_CALL;
	values[RAX] = (unsigned long long)number;
	values[RDI] = arguments[0];
	values[RSI] = arguments[1];
	values[RDX] = arguments[2];
	values[R10] = arguments[3];
	values[R8] = arguments[4];
	values[R9] = arguments[5];
	values[RIP] = injection->instruction;
	if (registers(thread, values, true) || run_to_border(thread) || run_to_border(thread) || registers(thread, values, false))
		return -1;
	*result = (int64_t)values[RAX];
	return 0;
}

int inject_end(struct injection *injection)
{
	pid_t thread = injection->thread;
	int result = 0;

	if (registers(thread, injection->before, true) || mask_signals(thread, &injection->mask))
		result = -1;
	/*
	 * From one more stop: an interrupted system call is only restarted by a thread that goes on from a stop for a signal, not by one that
	 * goes on from the border of a system call.
	 */
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) || ptrace(PTRACE_CONT, thread, NULL, NULL) || await_interrupt(thread))
		return fail("Thread %d cannot go on where it was: %s.", thread, strerror(errno));
	if (ptrace(PTRACE_DETACH, thread, NULL, NULL))
		return fail("Thread %d cannot be left: %s.", thread, strerror(errno));
	return result;
}
