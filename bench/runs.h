/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For all files of the bench `runs`: how much memory its machine has, and how its kernel sorts. */
#ifndef BENCH_RUNS_H
#define BENCH_RUNS_H

#include <stddef.h>

#define FRAMES (1ul << 24)
#define MAX_ORDER_NR_PAGES 1024ul
#define SORT heapsort_u64

/* lib/sort.c of the kernel, which sorts in place by a heap. */
static inline void heapsort_u64(void *base, size_t number, size_t size, int (*compare)(const void *, const void *))
{
	unsigned long *list = base, top;
	size_t begin = number / 2, end = number, at, child;

	(void)size;
	while (end > 1) {
		if (begin) {
			top = list[--begin];
		} else {
			top = list[--end];
			list[end] = list[0];
		}
		for (at = begin; (child = 2 * at + 1) < end; at = child) {
			if (child + 1 < end && compare(&list[child], &list[child + 1]) < 0)
				child++;
			if (compare(&top, &list[child]) >= 0)
				break;
			list[at] = list[child];
		}
		list[at] = top;
	}
}

#endif
