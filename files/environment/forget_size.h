/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_FORGET_SIZE_H
#define ENVIRONMENT_FORGET_SIZE_H

#include <stddef.h>

/*
 * Has CRIU restore the file `path` from the images in this directory whatever its size is. CRIU refuses a file that has another one, but
 * for those that can only be appended to: also a log that the unit reads as well, and that others have appended to. -1 after saying why not.
 */
int forget_size(const char *images, const char *path);
/* The same in the bytes of files.img; returns the number of entries that were changed. -1 if the bytes are no such image. */
long forget_size_in(unsigned char *bytes, size_t size, const char *path);

#endif
