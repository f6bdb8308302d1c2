/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes the connections between carried units, whose processes all stand still: what CRIU cannot, because each of its trees has one end.
 */
#ifndef FINGERPRINT_TAKE_H
#define FINGERPRINT_TAKE_H

#include <stdio.h>

/*
 * Writes the files of the pairs into the directory; none if there is no pair. `list` is as of carried_read(). Each end that was taken is
 * a line "UNIT INODE" of `told`. -1 after saying why not, with nothing written.
 */
int pairs_take(const char *directory, FILE *list, FILE *told);

#endif
