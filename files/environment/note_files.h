/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_NOTE_FILES_H
#define ENVIRONMENT_NOTE_FILES_H

/*
 * Writes the list DIRECTORY/files-UNIT (see identity.h) of the processes of each unit, which stand still. The words are the directory,
 * and for each unit "--unit", its name, and its process ids. -1 after saying what failed.
 */
int note_files(int count, char **words);

#endif
