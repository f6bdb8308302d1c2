/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that a thread of another process makes for us: for what the kernel tells and sets only of the caller itself. Nothing is
 * written into the process: the thread is stopped, its registers are set to a `syscall` instruction that its memory has anyway, and
 * afterwards they and its signal mask are what they were. A system call that the stop has interrupted goes on, as after any stop.
 *
 * Its seccomp filters do not see these calls.
 */
#ifndef FINGERPRINT_INJECT_H
#define FINGERPRINT_INJECT_H

#include <stdint.h>
#include <sys/types.h>

/* struct user_regs_struct in <sys/user.h> */
#define REGISTERS 27

struct injection {
	pid_t thread;
	/* Of a `syscall` instruction in the process. */
	uint64_t instruction;
	/* The registers, in the order of <sys/reg.h>. */
	unsigned long long before[REGISTERS];
	uint64_t mask;
};

/* Stops the thread. -1 after saying why that cannot be; then there is nothing to end. */
int inject_begin(struct injection *injection, pid_t thread);
/* Has the stopped thread make a system call with up to six arguments. *result is what it returns, or its negative error. */
int inject_call(struct injection *injection, long number, const uint64_t arguments[6], int64_t *result);
/* Lets the thread go on where it was. */
int inject_end(struct injection *injection);

#endif
