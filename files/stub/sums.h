/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Check sums of all that kexec has put into memory for the next kernel. Who loads it computes them (files/sums), the code that is entered first
 * (boot.c) compares them. Four CRC-32C, each of every fourth word: with the processor's own instruction that takes a quarter of an instruction
 * for a byte, the SHA-256 of kexec's purgatory takes fifty times as many.
 */
#ifndef KUP_SUMS_H
#define KUP_SUMS_H

#include <stdint.h>

#define KUP_LANES 4
#define KUP_STRIPE 32 /* bytes: a word of each lane */

/* KEXEC_SEGMENT_MAX is 16: without the purgatory, and the kernel's own in three parts. */
#define KUP_REGIONS 17

/*
 * Between its own check and the kernel the purgatory may add a word to the command line, " kexec_jump_back_entry=0x...". Kernels from 6.14
 * to 7.0 leave it something on the stack that it takes for a reason. It is none, and not what was loaded.
 */
#define KUP_TAIL 64

#define KUP_SUMS_NONE 0x656e6f6e50554b00ull /* "\0KUPnone": the purgatory has compared its own */
#define KUP_SUMS_SET 0x736d757350554b00ull  /* "\0KUPsums" */

struct kup_region {
	uint64_t start, size; /* physical bytes, whole stripes */
	uint32_t sum[KUP_LANES];
};

struct kup_sums {
	uint64_t state;
	uint64_t zero;
	uint32_t sum[KUP_LANES]; /* of what follows */
	uint64_t count;
	uint64_t line_end; /* of the command line: the physical address of its NUL, behind which there are KUP_TAIL zeros in all */
	uint64_t zeros[2];
	struct kup_region region[KUP_REGIONS];
};

#define KUP_SUMMED (sizeof(struct kup_sums) - KUP_STRIPE)

_Static_assert(sizeof(struct kup_region) == KUP_STRIPE && sizeof(struct kup_sums) == KUP_STRIPE * (2 + KUP_REGIONS), "whole stripes");

typedef uint64_t __attribute__((may_alias, aligned(1))) kup_word;

/* Bit 20 of the leaf 1's ECX: SSE 4.2 brings the instruction. */
static inline int kup_can_sum(void)
{
	uint32_t a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return c >> 20 & 1;
}

static inline void kup_sum_begin(uint64_t lane[KUP_LANES])
{
	for (int i = 0; i < KUP_LANES; i++)
		lane[i] = UINT32_MAX;
}

static inline uint64_t kup_crc(uint64_t lane, uint64_t word)
{
	__asm__("crc32q %1, %0" : "+r"(lane) : "rm"(word));
	return lane;
}

/* @size: bytes, whole stripes. */
static inline void kup_sum_add(uint64_t lane[KUP_LANES], const void *start, uint64_t size)
{
	const kup_word *word = start, *end = word + size / sizeof(*word);
	uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];

	for (; word != end; word += KUP_LANES) {
		a = kup_crc(a, word[0]);
		b = kup_crc(b, word[1]);
		c = kup_crc(c, word[2]);
		d = kup_crc(d, word[3]);
	}
	lane[0] = a;
	lane[1] = b;
	lane[2] = c;
	lane[3] = d;
}

static inline int kup_sum_is(const void *start, uint64_t size, const uint32_t sum[KUP_LANES])
{
	uint64_t lane[KUP_LANES];
	int same = 1;

	kup_sum_begin(lane);
	kup_sum_add(lane, start, size);
	for (int i = 0; i < KUP_LANES; i++)
		same &= lane[i] == sum[i];
	return same;
}

/*
 * Whether all regions are as they were when they were loaded; also if it was somebody else's business to compare. Takes away what the purgatory
 * has written.
 */
static inline int kup_sums_hold(const struct kup_sums *sums)
{
	if (sums->state == KUP_SUMS_NONE)
		return 1;
	if (sums->state != KUP_SUMS_SET || sums->zero || !kup_sum_is(&sums->count, KUP_SUMMED, sums->sum) || sums->count > KUP_REGIONS)
		return 0;
	for (int i = 0; i < KUP_TAIL; i++)
		((volatile char *)sums->line_end)[i] = 0;
	for (uint64_t i = 0; i < sums->count; i++)
		if (!kup_sum_is((const void *)sums->region[i].start, sums->region[i].size, sums->region[i].sum))
			return 0;
	return 1;
}

#endif
