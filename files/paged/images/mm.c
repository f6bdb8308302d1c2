/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/mm.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "images/image_file.h"
#include "common/protobuf.h"
#include "page_server/wire.h"

/* criu/include/magic.h */
#define MM_MAGIC 0x57492820u
/* Field of mm_entry with one area. */
#define MM_VMAS 14
/* criu/include/image.h */
#define VMA_AREA_VSYSCALL (1u << 2)
#define VMA_AREA_VDSO (1u << 3)
#define VMA_AREA_VVAR (1u << 12)
#define VMA_AREA_SHSTK (1u << 15)
#define VMA_AREA_GUARD (1u << 16)

struct area {
	uint64_t start, end, flags, status;
};

/* vma_entry: 1 start, 2 end, 6 flags, 7 status. */
static bool take_area(struct bytes *message, struct area *area)
{
	struct field field;

	*area = (struct area){ 0 };
	while (message->at < message->end) {
		if (!take_field(message, &field))
			return false;
		if (field.number == 1)
			area->start = field.value;
		else if (field.number == 2)
			area->end = field.value;
		else if (field.number == 6)
			area->flags = field.value;
		else if (field.number == 7)
			area->status = field.value;
	}
	return true;
}

/* At the end of CRIU's list: the vsyscall page, outside of user space, and what madvise(2) guards in areas that were named before. */
static bool is_no_area_of_its_own(const struct area *area)
{
	return area->status & (VMA_AREA_VSYSCALL | VMA_AREA_GUARD);
}

static bool is_in_user_space(const struct area *area)
{
	return area->start < area->end && area->end <= ADDRESS_END && area->start % PAGE_SIZE == 0 && area->end % PAGE_SIZE == 0;
}

static bool is_lazy(const struct area *area)
{
	return (area->flags & MAP_ANONYMOUS) && (area->flags & MAP_PRIVATE) && !(area->flags & (MAP_LOCKED | MAP_HUGETLB)) &&
	       !(area->status & (VMA_AREA_VDSO | VMA_AREA_VVAR | VMA_AREA_SHSTK));
}

int mm_parse(const void *bytes, size_t size, const char *name, struct runs *lazy)
{
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;
	uint64_t end = 0;
	struct field field;
	struct area area;

	if (!take_magic(&image, MM_MAGIC) || !take_message(&image, &message))
		return fail("%s is no memory image of CRIU: its first words are not the expected ones", name);
	while (message.at < message.end) {
		if (!take_field(&message, &field))
			return fail("%s is broken after the area that ends at 0x%" PRIx64, name, end);
		if (field.number != MM_VMAS)
			continue;
		if (!take_area(&field.content, &area))
			return fail("%s has a broken area after 0x%" PRIx64, name, end);
		if (is_no_area_of_its_own(&area))
			continue;
		if (!is_in_user_space(&area) || area.start < end)
			return fail("%s has the area 0x%" PRIx64 "-0x%" PRIx64 " after 0x%" PRIx64
				    ", expected ascending areas in user space",
				    name, area.start, area.end, end);
		end = area.end;
		if (is_lazy(&area))
			runs_add(lazy, area.start, (area.end - area.start) / PAGE_SIZE, PE_LAZY);
	}
	return 0;
}

static int parse(const void *bytes, size_t size, const char *name, void *into)
{
	return mm_parse(bytes, size, name, into);
}

int mm_read(int directory, uint64_t task, struct runs *lazy)
{
	return image_read(directory, "mm", task, parse, lazy);
}
