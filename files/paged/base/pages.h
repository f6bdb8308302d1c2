/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all files: sizes, the kinds of object that have pages, and the exit codes. */
#ifndef PAGED_PAGES_H
#define PAGED_PAGES_H

#include <stdint.h>

#include "common/base.h"

#define PAGE_SHIFT 12
#define PAGE_SIZE ((uint64_t)1 << PAGE_SHIFT)
/* The end of user space with five-level page tables; with four levels it is 2^47. */
#define ADDRESS_END ((uint64_t)1 << 56)
/* 8 TiB of memory in one round: more is a broken or hostile sender. Fits the u32 of old pagemap images. */
#define PAGES_MAX ((uint64_t)1 << 31)

/* Kinds of object that have pages, by the numbers of CRIU's page server (criu/page-xfer.c, PS_TYPE_*). */
enum object_type { OBJECT_TASK = 1, OBJECT_SHMEM = 2 };

/* More exit codes. EXIT_DAMAGED: some pages were lost or wrong, all others were served. */
enum { EXIT_DAMAGED = 3, EXIT_NOT_RESTORED = 4 };

#endif
