/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel module's device (files/kmod), and the subcommands that are one call of it each. */
#ifndef PAGED_DEVICE_H
#define PAGED_DEVICE_H

#include "base/pages.h"
#include "kup_ppp.h"

#define DEVICE "/dev/kup_ppp"

/* Opens the device for calls. -1 after saying why not. */
int device_open(void);

/*
 * `paged begin`: no frame is to lie in these ranges of physical memory, START-END in hexadecimal, up to KUP_PPP_KEEP_OUT_MAX. Prints the
 * table's two numbers as a line of JSON. The exit code.
 */
int device_begin(const char *const *keep_out, size_t number);

/* Whether this is the name of a subcommand for device_call(). */
bool device_has_call(const char *subcommand);
/*
 * layout, drop, seal, hand-over, release, abandon (a release that also gives back what nobody has taken), rearm, or status. Prints the
 * module's status as a line of JSON. The exit code.
 */
int device_call(const char *subcommand);

#endif
