/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The service manager's protocol, sd_notify(3): state, status and its store of file descriptors. */
#ifndef PAGED_NOTIFY_H
#define PAGED_NOTIFY_H

#include "base/pages.h"

/* Whether there is a service manager that stores descriptors. */
bool notify_available(void);
/* Sends assignments separated by newlines. A service manager that does not listen is no error. */
void notify(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Hands over a copy of the descriptor under this name. -1 after saying why not. */
int notify_store(int fd, const char *name);
/* Has the service manager close its copy. */
void notify_forget(const char *name);
/* Waits until the service manager has read what was sent before. -1 if that takes longer. */
int notify_barrier(int milliseconds);

/* Calls `receive` for each descriptor that the service manager has passed to this process, once; it then belongs to the callee. */
void notify_received(void (*receive)(int fd, const char *name, void *context), void *context);

#endif
