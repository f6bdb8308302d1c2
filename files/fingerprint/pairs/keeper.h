/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that holds connections in the new boot until the restores have taken their ends, and its file:
 *   kup-keeper 1
 *   keeper PID START         the start in ticks since the boot, so that no other process is taken for it
 *   end UNIT INODE DESCRIPTOR
 */
#ifndef FINGERPRINT_KEEPER_H
#define FINGERPRINT_KEEPER_H

/* Makes the pairs of the directory. Then a process in the background holds them, and the file says which. -1 after saying why not. */
int keeper_start(const char *directory, const char *file);
/* Runs the command, CRIU's, with the ends of the unit as descriptors to inherit. Returns only after saying why not. */
int keeper_join(const char *file, const char *unit, char **command);
/* Ends the process, which closes what nobody has taken, and removes the file; if there is none, does nothing. -1 after saying why not. */
int keeper_end(const char *file);

#endif
