/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The task in the corpus. No process has this id, so nothing can be done to one. */
#define FUZZ_TASK 4194303

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_remove_at_exit(const char *directory);

#endif
