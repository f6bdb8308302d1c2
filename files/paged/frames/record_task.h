/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One stopped process: its pages go to the kernel module, frame by frame; those that cannot stay are copied into CRIU's image. */
#ifndef PAGED_RECORD_TASK_H
#define PAGED_RECORD_TASK_H

#include "images/runs.h"

/* Pages that are copied at once. */
#define COPY_PAGES 64

/* What is needed to record a process, the same for all of a tree. */
struct recorder {
	/* The kernel module, and the directory of the images. */
	int device, images;
	/* Pages that nobody shares are bound when they are needed. */
	bool lazy;
	/* COPY_PAGES pages, and KUP_PPP_RANGES_MAX ranges. */
	uint8_t *buffer;
	struct kup_ppp_range *ranges;
};

struct recorded {
	/* Recorded pages; of these, the lazy ones; pages swapped in for it; pages copied into the image. */
	uint64_t pages, lazy, fetched, copied;
};

/* `images` stays the caller's. Makes the buffers, and opens the device; -1 after saying why not. Close in either case. */
int recorder_open(struct recorder *recorder, int images, bool lazy);
void recorder_close(struct recorder *recorder);

/*
 * Records the pages `runs` of the process, which stands still, under the frame task `number`. `content`: its pages image. Afterwards
 * `runs` is what belongs into the pagemap: the copied pages (PE_PRESENT), and those that are lazy (PE_LAZY). -1 after saying why not.
 */
int record_task(const struct recorder *recorder, uint64_t process, uint32_t number, int content, struct runs *runs,
		struct recorded *recorded);

#endif
