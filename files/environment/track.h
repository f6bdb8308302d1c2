/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_TRACK_H
#define ENVIRONMENT_TRACK_H

/*
 * Sends each of the netlink messages in the file `path` to the kernel's connection tracking, so that it knows the connections of the old
 * boot: plugins/module_utils/_system/conntrack.py makes them. Returns 0, or -1 with a message if the kernel did not take all of them.
 */
int track(const char *path);

#endif
