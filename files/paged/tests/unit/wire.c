/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of CRIU's page server protocol. */
#include <string.h>

#include "page_server/wire.h"
#include "snapshot.h"
#include "unit.h"

static void put(uint8_t *bytes, int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object)
{
	uint32_t low = (uint32_t)pages;

	memset(bytes, 0, 32);
	memcpy(bytes, &command, 4);
	if (form == 24)
		memcpy(bytes + 4, &low, 4);
	else
		memcpy(bytes + 8, &pages, 8);
	memcpy(bytes + (form == 24 ? 8 : 16), &address, 8);
	memcpy(bytes + (form == 24 ? 16 : 24), &object, 8);
}

static int decode(int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object, struct wire_request *request)
{
	uint8_t bytes[32];

	put(bytes, form, command, pages, address, object);
	return wire_decode((enum wire_form)form, bytes, request);
}

void test_wire_form(void)
{
	uint8_t bytes[32];

	for (int form = 24; form <= 32; form += 8) {
		put(bytes, form, PS_OPEN2, 0, 0, 77 << 8 | 1);
		CHECK(wire_form(bytes) == (enum wire_form)form);
		put(bytes, form, PS_PARENT, 0, 0, 77 << 8 | 2);
		CHECK(wire_form(bytes) == (enum wire_form)form);
		put(bytes, form, PS_FORCE_CLOSE, 0, 0, 0);
		CHECK(wire_form(bytes) == WIRE_24);
		put(bytes, form, 7 | PE_PRESENT << 16, 1, 4096, 77 << 8 | 1);
		CHECK(wire_form(bytes) == WIRE_UNKNOWN);
	}
	put(bytes, 24, PS_OPEN2, 0, 4096, 77 << 8 | 1);
	CHECK(wire_form(bytes) == WIRE_UNKNOWN);
	memcpy(bytes, "GET / HTTP/1.1\r\nHost: localhost\r", 32);
	CHECK(wire_form(bytes) == WIRE_UNKNOWN);
}

void test_wire_requests(void)
{
	const uint64_t task = 77 << 8 | 1, last = ((uint64_t)1 << 56) - 4096;
	const uint32_t add = PS_ADD_F | PE_PRESENT << 16;
	struct wire_request request;

	for (int form = 24; form <= 32; form += 8) {
		CHECK(!decode(form, add | PE_LAZY << 16, 3, 0x7000, task, &request));
		CHECK(request.command == PS_ADD_F && request.flags == (PE_PRESENT | PE_LAZY) && request.pages == 3 &&
		      request.address == 0x7000 && request.id == 77 && request.type == OBJECT_TASK);
		CHECK(!decode(form, PS_ADD_F | PE_PARENT << 16, 1, last, 5 << 8 | 2, &request) && request.type == OBJECT_SHMEM);
		CHECK(!decode(form, PS_FORCE_CLOSE, 0, 0, 0, &request) && request.command == PS_FORCE_CLOSE);
		CHECK(decode(form, add, 2, last, task, &request));
		CHECK(decode(form, add, 0, 0x7000, task, &request));
		CHECK(decode(form, add, 1, 0x7001, task, &request));
		CHECK(decode(form, add, 1, last + 4096, task, &request));
		CHECK(decode(form, PS_ADD_F, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_ADD_F | PE_LAZY << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_ADD_F | (PE_PARENT | PE_PRESENT) << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, add, 1, 0x7000, 77 << 8 | 3, &request));
		CHECK(decode(form, add, 1, 0x7000, 1, &request));
		CHECK(decode(form, add, 1, 0x7000, (uint64_t)1 << 40 | 1, &request));
		CHECK(decode(form, 7 | PE_PRESENT << 16, 1, 0x7000, task, &request));
		CHECK(decode(form, PS_OPEN2, 1, 0, task, &request));
	}
	CHECK(decode(32, add, (uint64_t)1 << 40, 0x7000, task, &request));
}
