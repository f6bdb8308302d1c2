/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the page daemon stands between the start of a restore and its end. All transitions are in phase.c. */
#ifndef PAGED_PHASE_H
#define PAGED_PHASE_H

#include <stdbool.h>

enum phase {
	/* CRIU restores the tree. Only pages that are asked for are installed; an area may not be registered yet. */
	PHASE_RESTORING,
	/* The tree runs. Only pages that are asked for are installed: other parts of the boot need the processors more. */
	PHASE_ON_DEMAND,
	/* The tree runs, and the background transfer installs the rest. */
	PHASE_DRAINING,
	/* All pages have been installed, or given up one by one. */
	PHASE_DRAINED,
	/* The restore has failed: no process of the tree may run. */
	PHASE_RESTORE_FAILED,
	/* The tree ran, but cannot be served any more: its processes are killed. */
	PHASE_ABANDONED,
};

enum phase_event {
	/* CRIU says that the restore is finished. */
	EVENT_RESTORED,
	/* The file of --after is there, or none is waited for. */
	EVENT_REST_ALLOWED,
	/* No task needs a page any more. */
	EVENT_ALL_INSTALLED,
	/* A page cannot be served. */
	EVENT_PAGE_LOST,
	/* The daemon cannot go on. */
	EVENT_GIVEN_UP,
	/* The journal is of a tree that is gone: the daemon begins anew. */
	EVENT_TREE_GONE,
};

#define PHASES (PHASE_ABANDONED + 1)
#define PHASE_EVENTS (EVENT_TREE_GONE + 1)

/* The phase after this event. */
enum phase phase_after(enum phase phase, enum phase_event event);
/* Whether CRIU has finished the restore. */
bool phase_is_restored(enum phase phase);
/* Whether the daemon is to end. */
bool phase_is_over(enum phase phase);

#endif
