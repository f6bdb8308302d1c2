/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of one page table that are installed together. */
#ifndef KUP_INSTALL_H
#define KUP_INSTALL_H

#include <linux/mm.h>

struct userfaultfd_ctx;

struct kup_batch {
	struct mm_struct *mm;
	struct userfaultfd_ctx *context; /* whose areas they must be; NULL: any */
	unsigned long address;           /* of the first */
	unsigned int number;
	struct page *pages[PTRS_PER_PTE]; /* with a reference for the process, and charged; NULL: the frame is taken already */
	bool is_copy[PTRS_PER_PTE];
};

/* Add the frame's page, or a copy if the frame is taken already or `copy` is set. False: no memory. */
bool kup_add_page(struct kup_batch *batch, u64 frame, bool copy);
/* Install the batch, which may lie in several neighbouring areas, and make it empty. *done: pages installed. The error is about the next one. */
int kup_install(struct kup_batch *batch, unsigned int *done);

#endif
