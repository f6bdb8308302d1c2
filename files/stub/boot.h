/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* What the code of boot.c is told: the two blocks in its image that others write. */
#ifndef KUP_BOOT_H
#define KUP_BOOT_H

#include <stddef.h>
#include <stdint.h>

#include "sums.h"

#define KUP_BOOT_MAGIC "KUPboot2"
#define KUP_BOOT_PARAMETERS 0x280
#define KUP_BOOT_SUMS 0x2c0

/* Written by plugins/module_utils/_image/image.py: distances are bytes from the start of the protected-mode part. */
struct parameters {
	char magic[8];
	uint32_t kernel;      /* where the kernel lies, on a multiple of 2 MiB */
	uint32_t entry;       /* its first instruction, from there */
	uint32_t relocations; /* where their list lies: 64-bit ones, 32-bit ones, negative 32-bit ones */
	uint32_t count[3];
	uint32_t slots;       /* number of virtual addresses to choose from, 2 MiB apart */
	uint32_t stack;       /* from here to the relocations the code has its stack */
};

_Static_assert(KUP_BOOT_PARAMETERS + sizeof(struct parameters) <= KUP_BOOT_SUMS, "the blocks overlap");
_Static_assert(KUP_BOOT_SUMS % KUP_STRIPE == 0, "the sums are no whole stripes");

#endif
