/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the sockets of restored processes with what was recorded, sets from outside what differs, and says what is left. */
#ifndef FINGERPRINT_SOCKETS_PUT_RIGHT_H
#define FINGERPRINT_SOCKETS_PUT_RIGHT_H

#include "sockets/found.h"

/* Returns the number of differences that are left; each has been printed on stdout. */
size_t sockets_put_right(const struct sockets_found *found);

#endif
