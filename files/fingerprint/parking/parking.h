/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A peer that has something to send during the outage sends it again and again, each time after twice the time. One that was told of a
 * window of zero sends nothing but probes, and goes on at once when it is told of another window. So the last that near peers hear before the outage
 * is an acknowledgement with a window of zero, and the first thing after it is one with a real window.
 *
 * The packet filter has to set the window of the kernel's own segments to zero meanwhile, for the peers of `parking_list` and no others: whoever
 * hears of a window of zero has to be told of another one.
 */
#ifndef FINGERPRINT_PARKING_H
#define FINGERPRINT_PARKING_H

#include <stdio.h>

#include "peers/connections.h"

/* Lists the near peers of these processes, which run: lines "near PID NUMBER ROUND-TRIP OWN PORT PEER PORT". -1 after saying why not. */
int parking_list(FILE *file, char **pids, size_t count);
/*
 * Tells those of such a list to wait, and writes who was told (parked.h). Their processes stand still by now. -1: not all could be told, it is said
 * why.
 */
int parking_tell(const char *path, FILE *file);
/* Has these go on where there is no outage, when their processes run again and packets flow. -1: not all could be told, it is said why. */
int parking_go_on(const char *path);
/* What all peers of restored connections hear first. A peer that does not wait takes it for one more acknowledgement. */
extern const struct telling parking_open;

#endif
