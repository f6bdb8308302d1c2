/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef KUP_TESTS_CHECK_H
#define KUP_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* A program under test ends where something is not so, also under a fuzzer. */
#define CHECK(what)                                                                        \
	do {                                                                               \
		if (!(what)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                           \
		}                                                                          \
	} while (0)

#endif
