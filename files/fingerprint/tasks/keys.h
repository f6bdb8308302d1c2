/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys that the kernel keeps for a process (keyrings(7)): in memory that no checkpoint has. */
#ifndef FINGERPRINT_KEYS_H
#define FINGERPRINT_KEYS_H

#include <stdio.h>

#include "tasks/inject.h"

/*
 * Prints "THREAD keys COUNT" if the keyrings of the stopped thread, its process and its session have any but those that systemd gives a
 * service (KeyringMode=): the id of its invocation, and the keyring of its user. -1 after saying what failed.
 */
int keys_ask(struct injection *injection, FILE *into);

#endif
