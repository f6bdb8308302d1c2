/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel module's device (files/kmod): one call and what it says. */
#ifndef PAGED_DEVICE_H
#define PAGED_DEVICE_H

#include "common.h"
#include "kup_ppp.h"

#define DEVICE "/dev/kup_ppp"

/* Open for calls; -1 after saying why not. */
int device_open(void);

/*
 * Each face is a call: begin (keep_out: START-END in hex, up to KUP_PPP_KEEP_OUT_MAX), layout, drop, seal, hand-over, release, abandon
 * (releases what nobody has taken as well), rearm, status.
 * One line of JSON; the exit code.
 */
int device_begin(const char *const *keep_out, size_t number);
int device_face(const char *face);

#endif
