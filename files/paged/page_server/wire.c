/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page_server/wire.h"

#include <inttypes.h>
#include <string.h>

/* PID_MAX_LIMIT of Linux. */
#define TASK_ID_MAX ((uint64_t)1 << 22)

static uint32_t word32(const void *bytes, size_t offset)
{
	uint32_t word;

	memcpy(&word, (const char *)bytes + offset, sizeof(word));
	return word;
}

static uint64_t word64(const void *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)bytes + offset, sizeof(word));
	return word;
}

/*
 * A connection begins with OPEN2 or PARENT, which have no address and no pages but an object. In the short form that
 * object stands in bytes 16 to 23; in the long form these are the address, and the object is still to come. A tree
 * without memory sends FORCE_CLOSE at once, all zeros after it: the short form reads enough of it.
 */
enum wire_form wire_form(const void *first)
{
	uint32_t command = word32(first, 0) & 0xffff;

	if (command == PS_CLOSE || command == PS_FORCE_CLOSE)
		return word64(first, 8) || word64(first, 16) ? WIRE_UNKNOWN : WIRE_24;
	if ((command != PS_OPEN2 && command != PS_PARENT) || word32(first, 0) >> 16)
		return WIRE_UNKNOWN;
	if (word64(first, 8))
		return WIRE_UNKNOWN;
	if (!word64(first, 16))
		return WIRE_32;
	return word32(first, 4) ? WIRE_UNKNOWN : WIRE_24;
}

static int decode_object(uint64_t dst_id, struct wire_request *request)
{
	unsigned int type = dst_id & 0xff;

	request->id = dst_id >> 8;
	if (type != OBJECT_TASK && type != OBJECT_SHMEM)
		return fail("the page stream names an object of type %u, expected %d (task) or %d (shared memory)", type,
			    OBJECT_TASK, OBJECT_SHMEM);
	if (type == OBJECT_TASK && (!request->id || request->id > TASK_ID_MAX))
		return fail("the page stream names task %" PRIu64 ", expected a process id up to %" PRIu64, request->id,
			    TASK_ID_MAX);
	request->type = type;
	return 0;
}

static int check_run(const struct wire_request *request)
{
	uint64_t address = request->address, pages = request->pages;

	if (!pages || pages > PAGES_MAX)
		return fail("the page stream has a run of %" PRIu64 " pages, expected 1 to %" PRIu64, pages, PAGES_MAX);
	if (address % PAGE_SIZE || address >= ADDRESS_END || pages > (ADDRESS_END - address) / PAGE_SIZE)
		return fail("the page stream has %" PRIu64 " pages at 0x%" PRIx64
			    ", expected a page address and an end within 2^56",
			    pages, address);
	/* Content, or a promise that an earlier round has it: one of the two, PE_LAZY only says something about content. */
	if (request->flags != PE_PARENT && (request->flags & ~(unsigned int)PE_LAZY) != PE_PRESENT)
		return fail("the page stream has a run with flags %u, expected %d (parent), %d (present) or %d (lazy, present)",
			    request->flags, PE_PARENT, PE_PRESENT, PE_LAZY | PE_PRESENT);
	return 0;
}

int wire_decode(enum wire_form form, const void *bytes, struct wire_request *request)
{
	uint32_t command = word32(bytes, 0);
	size_t after = form == WIRE_32 ? 16 : 8;

	memset(request, 0, sizeof(*request));
	request->flags = command >> 16;
	request->pages = form == WIRE_32 ? word64(bytes, 8) : word32(bytes, 4);
	request->address = word64(bytes, after);
	switch (command & 0xffff) {
	case PS_ADD_F:
		request->command = PS_ADD_F;
		if (check_run(request))
			return -1;
		break;
	case PS_OPEN2:
	case PS_PARENT:
		request->command = command & 0xffff;
		if (request->flags || request->pages || request->address)
			return fail("the page stream opens an object with flags, pages or an address, expected none");
		break;
	case PS_CLOSE:
	case PS_FORCE_CLOSE:
		request->command = command & 0xffff;
		return 0;
	default:
		return fail("the page stream has the command 0x%x, expected one of CRIU 3.17 to 4.2", command);
	}
	return decode_object(word64(bytes, after + 8), request);
}
