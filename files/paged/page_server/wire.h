/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of CRIU's page server protocol (criu/page-xfer.c, struct page_server_iov), in both of their forms. */
#ifndef PAGED_WIRE_H
#define PAGED_WIRE_H

#include "base/pages.h"

enum wire_form {
	WIRE_UNKNOWN = 0,
	/* CRIU up to 4.1: u32 cmd, u32 nr_pages, u64 vaddr, u64 dst_id */
	WIRE_24 = 24,
	/* CRIU 4.2: u32 cmd, 4 unused, u64 nr_pages, u64 vaddr, u64 dst_id */
	WIRE_32 = 32,
};
#define WIRE_SHORT 24
#define WIRE_LONG 32

enum wire_command {
	PS_OPEN2 = 4,
	PS_PARENT = 5,
	PS_ADD_F = 6,
	PS_CLOSE = 0x1023,
	PS_FORCE_CLOSE = 0x1024,
};

/* Flags of a run of pages (criu/include/pagemap.h). */
enum pagemap_flags { PE_PARENT = 1, PE_LAZY = 2, PE_PRESENT = 4 };

struct wire_request {
	enum wire_command command;
	unsigned int flags;
	enum object_type type;
	uint64_t id;
	uint64_t address;
	uint64_t pages;
};

/* Which form the sender uses, from the first 24 bytes that it sends. */
enum wire_form wire_form(const void *first);
/* Reads one request; -1 after saying what is wrong with it. */
int wire_decode(enum wire_form form, const void *bytes, struct wire_request *request);

#endif
