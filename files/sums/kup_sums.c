/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Check sums for a kernel that kexec(8) loads: a library that is preloaded into it.
 *
 * Only what the system call gets is all that the next kernel starts with: the memory map, the command line, and what firmware and kexec(8)
 * have added. So the sums are made there, and written into the image (files/stub/boot.h), whose code compares them. kexec(8) is told
 * --no-checks then; whoever calls it has to see that this library has said what it did.
 */
#ifdef __x86_64__ /* elsewhere kernels are loaded as they are */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../stub/boot.h"

#define ALIGN_UP(value, to) (((value) + (to) - 1) / (to) * (to))

enum { PAGE = 4096, MOST_SEGMENTS = 16, ARGUMENTS = 6 };

/* struct kexec_segment: include/uapi/linux/kexec.h */
struct segment {
	unsigned char *content;
	size_t content_size;
	uint64_t start; /* physical */
	size_t size;    /* what the content does not fill is zero */
};

/* Sums the bytes [@from, @to) of a segment, whole stripes. Content ends anywhere. */
static void sum_part(const struct segment *segment, size_t from, size_t to, struct kup_region *region)
{
	static const unsigned char zeros[PAGE];
	uint64_t lane[KUP_LANES];
	size_t whole = segment->content_size / KUP_STRIPE * KUP_STRIPE;
	size_t at = from < whole ? (whole < to ? whole : to) : from;

	kup_sum_begin(lane);
	kup_sum_add(lane, segment->content + from, at - from);
	if (at < to && at < segment->content_size) {
		unsigned char last[KUP_STRIPE] = { 0 };

		memcpy(last, segment->content + at, segment->content_size - at);
		kup_sum_add(lane, last, sizeof(last));
		at += sizeof(last);
	}
	for (size_t left = to - at; left;) {
		size_t some = left < sizeof(zeros) ? left : sizeof(zeros);

		kup_sum_add(lane, zeros, some);
		left -= some;
	}
	region->start = segment->start + from;
	region->size = to - from;
	for (int i = 0; i < KUP_LANES; i++)
		region->sum[i] = (uint32_t)lane[i];
}

/* The image's parameters, if a segment is the image of a kernel with the code that compares. */
static const struct parameters *image_of(const struct segment *segment)
{
	const struct parameters *found = (const void *)(segment->content + KUP_BOOT_PARAMETERS);

	if (segment->content_size < KUP_BOOT_SUMS + sizeof(struct kup_sums) || memcmp(found->magic, KUP_BOOT_MAGIC, sizeof(found->magic)))
		return NULL;
	if (found->stack % KUP_STRIPE || found->relocations % KUP_STRIPE || found->stack < KUP_BOOT_SUMS + sizeof(struct kup_sums) ||
	    found->stack > found->relocations || found->relocations > segment->content_size)
		return NULL;
	return found;
}

/*
 * The place of the command line's end, if a segment has the boot parameters (Documentation/arch/x86/boot.rst) and the command line, as kexec(8)
 * lays them out; 0: it has not.
 */
static uint64_t line_end(const struct segment *segment)
{
	static const unsigned char zeros[KUP_TAIL];
	uint32_t low, high;
	uint64_t at;

	if (segment->content_size < PAGE || memcmp(segment->content + 0x202, "HdrS", 4))
		return 0;
	memcpy(&low, segment->content + 0x228, sizeof(low));
	memcpy(&high, segment->content + 0x0c8, sizeof(high));
	at = ((uint64_t)high << 32 | low) - segment->start;
	while (at < segment->content_size && segment->content[at])
		at++;
	if (at >= segment->content_size || segment->content_size - at < KUP_TAIL || memcmp(segment->content + at, zeros, KUP_TAIL))
		return 0;
	return segment->start + at;
}

/* Sums the @count segments, but for that of the purgatory, which @entry lies in. Returns the number of regions; 0: nothing was written. */
static size_t sum_segments(uint64_t entry, size_t count, const struct segment *segments)
{
	struct kup_sums sums = { .state = KUP_SUMS_SET };
	struct kup_sums *place = NULL;
	uint64_t lane[KUP_LANES];

	if (!kup_can_sum() || count > MOST_SEGMENTS)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct segment *one = &segments[i];
		const struct parameters *image = image_of(one);

		if (one->size % PAGE || one->content_size > one->size || sums.count + 3 > KUP_REGIONS)
			return 0;
		if (entry - one->start < one->size)
			continue;
		if (!image) {
			sums.line_end = sums.line_end ? sums.line_end : line_end(one);
			sum_part(one, 0, one->size, &sums.region[sums.count++]);
			continue;
		}
		if (place)
			return 0;
		place = (void *)(one->content + KUP_BOOT_SUMS);
		sum_part(one, 0, KUP_BOOT_SUMS, &sums.region[sums.count++]);
		sum_part(one, KUP_BOOT_SUMS + sizeof(sums), image->stack, &sums.region[sums.count++]);
		sum_part(one, image->relocations, one->size, &sums.region[sums.count++]);
	}
	if (!place || !sums.line_end)
		return 0;
	kup_sum_begin(lane);
	kup_sum_add(lane, &sums.count, KUP_SUMMED);
	for (int i = 0; i < KUP_LANES; i++)
		sums.sum[i] = (uint32_t)lane[i];
	memcpy(place, &sums, sizeof(sums));
	return sums.count;
}

static long call(long number, const long argument[ARGUMENTS])
{
	register long fourth __asm__("r10") = argument[3];
	register long fifth __asm__("r8") = argument[4];
	register long sixth __asm__("r9") = argument[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(argument[0]), "S"(argument[1]), "d"(argument[2]), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

static uint32_t cpuid(uint32_t leaf, char vendor[13], uint32_t *c)
{
	uint32_t a = leaf, b, d;

	*c = 0;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(*c), "=d"(d));
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, c, 4);
	vendor[12] = 0;
	return a;
}

/*
 * Whether this is a guest whose memory is encrypted: only a kernel's own decompressor can start it there. Of SEV /proc/cpuinfo says nothing in
 * a guest; leaf 0x8000001f has it in bit 1, leaf 0x21 the name of TDX.
 */
static int is_encrypted_guest(void)
{
	char text[13];
	uint32_t c;

	cpuid(1, text, &c);
	if (!(c >> 31))
		return 0;
	if (cpuid(0x80000000, text, &c) >= 0x8000001f && cpuid(0x8000001f, text, &c) >> 1 & 1)
		return 1;
	if (cpuid(0, text, &c) < 0x21)
		return 0;
	cpuid(0x21, text, &c);
	return !strcmp(text, "IntelTDX    ");
}

/* Whether one of them is an image that would not start. */
static int is_refused(size_t count, const struct segment *segments)
{
	for (size_t i = 0; i < count; i++)
		if (image_of(&segments[i]))
			return is_encrypted_guest();
	return 0;
}

/* Stands before the C library's own: kexec(8) has no other way to the system call. */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
	long argument[ARGUMENTS], result;
	size_t regions = 0;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < ARGUMENTS; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_kexec_load && is_refused((size_t)argument[1], (const struct segment *)argument[2])) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (number == SYS_kexec_load)
		regions = sum_segments((uint64_t)argument[0], (size_t)argument[1], (const struct segment *)argument[2]);
	result = call(number, argument);
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	if (regions)
		printf("kup_sums: %zu regions\n", regions);
	return result;
}

#endif
