/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole fingerprint: what its lines tell of, and putting it right. */
#ifndef FINGERPRINT_PUT_RIGHT_H
#define FINGERPRINT_PUT_RIGHT_H

#include <stddef.h>

struct fingerprint;
struct sockets_found;

/* Points into `text`, which has to stay. NULL after saying what is wrong with it. */
struct fingerprint *fingerprint_parse(char *text, size_t size, const char *name);
/* Returns the number of differences that are left; each has been printed on stdout. */
size_t fingerprint_put_right(const struct fingerprint *found);
/* Its sockets. */
const struct sockets_found *fingerprint_sockets(const struct fingerprint *found);
void fingerprint_free(struct fingerprint *found);

#endif
