/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The word beside each page of the flat files: 0 if the page is not covered, otherwise a checksum of its
 * content and address.
 */
#ifndef PAGED_SUM_H
#define PAGED_SUM_H

#include "base/pages.h"

#define SUM_COVERED ((uint64_t)1 << 63)

/* Checksum of one page at this address, with SUM_COVERED set. */
uint64_t page_sum(const void *page, uint64_t address);

static inline bool sum_matches(uint64_t kept, const void *page, uint64_t address)
{
	return kept == page_sum(page, address);
}

#endif
