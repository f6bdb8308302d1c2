/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_GROUPS_H
#define ENVIRONMENT_GROUPS_H

/*
 * Becomes the command `argv` (a path and its words, up to NULL) without supplementary groups. Returns only if that fails, after a message.
 */
void become_without_groups(char *const *argv);

#endif
