/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `paged discard`: CRIU's page server for a dump that is only to show whether CRIU can make it. */
#ifndef PAGED_DISCARD_H
#define PAGED_DISCARD_H

/* Answers CRIU on this socket until the dump is complete, and keeps nothing; returns an exit code. */
int discard_pages(int socket);

#endif
