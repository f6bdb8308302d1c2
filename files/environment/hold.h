/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_HOLD_H
#define ENVIRONMENT_HOLD_H

/*
 * Leaves a process behind that does nothing, in the caller's namespaces: as long as it lives, they can be entered. It leaves the caller's
 * control group for the first of `groups` (paths of cgroup.procs, up to NULL) that there is, because systemd ends what its commands leave
 * behind; and its id is written to the file `path`. Returns 0, or -1.
 */
int hold(const char *path, char **groups);

#endif
