/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both kernels' halves of the test machine's program need. */
#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../files/kmod/kup_ppp.h"

#define PAGE 4096ul

/* A result: one line "KUPTEST key value" on the console. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Say so, and end the machine. */
__attribute__((noreturn)) void fail(const char *what);
void require(bool holds, const char *what);

__attribute__((noreturn)) void power_off(void);

/* What follows `name` on the kernel's command line, or NULL. */
const char *word(const char *name);

/* The number in the first line of a file that has the format, or -1. */
long number_in(const char *path, const char *format);

double seconds(void);

void write_file(const char *path, const char *text);

/* The errors and warnings of the kernel's log, and the module's words. */
void print_log(void);

/* Load a module of the machine; returns 0, or errno. */
int load_module(const char *path, const char *parameters);

/* Unload it; returns 0, or errno. */
int unload_module(const char *name);

int open_device(void);

/* Unloading must be refused; returns the device, opened again. */
int unload_refused(int device);

/* A call that must fail with `error`. */
void refused(int device, unsigned long command, void *argument, int error, const char *what);

/* A child that stops itself once `before` is done, and runs `then` when it is let go on. */
pid_t start_stopped(void (*before)(void), void (*then)(void));

void end_child(pid_t child);

/* The memory cgroup of the first task, without a limit. */
#define GROUP "/sys/fs/cgroup/one/"

void make_group(void);
void join_group(void);

/* Swap on the machine's disk, if it has one; returns whether. */
bool switch_swap_on(void);

/* Load the next kernel into the window, with the table on its command line, and jump. */
__attribute__((noreturn)) void jump(uint64_t address, uint64_t nonce);

/* The window that the next kernel is loaded to: first byte, and first behind. */
void window(uint64_t *start, uint64_t *end);

/* old.c, new.c, hostile.c */
__attribute__((noreturn)) void old_kernel(void);
/* Record two stopped tasks and lay out; returns how many pages had to be swapped in. `shared`: they share some copy-on-write. */
uint64_t record_tasks(int device, pid_t one, pid_t two, bool shared, struct kup_ppp_begin *begin);
__attribute__((noreturn)) void jump_with_table(int device, const struct kup_ppp_begin *begin);
void new_kernel(void);
void hostile_tables(uint64_t address, uint64_t nonce);

#endif
