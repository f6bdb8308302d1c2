/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/sum.h"

#include <string.h>

/*
 * Four independent lanes of xor, rotate, multiply: one 64-bit multiplication for each eight bytes, no vectors, because
 * emulated processors have nothing faster. Each step is a bijection of the lane and of the word, so a change in one
 * word always changes the result before the last fold. The address is mixed in so that a page read from the wrong
 * place does not pass. Against mistakes of disks and programs, not against forgers: only root writes here.
 */
static inline uint64_t step(uint64_t lane, uint64_t word)
{
	lane ^= word;
	lane = lane << 29 | lane >> 35;
	return lane * 0x9e3779b97f4a7c15u;
}

static inline uint64_t fold(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93u;
	value ^= value >> 29;
	return value;
}

uint64_t page_sum(const void *page, uint64_t address)
{
	uint64_t a = address ^ 0x243f6a8885a308d3u, b = address ^ 0x13198a2e03707344u;
	uint64_t c = address ^ 0xa4093822299f31d0u, d = address ^ 0x082efa98ec4e6c89u;
	const char *at = page;

	for (size_t i = 0; i < PAGE_SIZE; i += 32) {
		uint64_t words[4];

		memcpy(words, at + i, sizeof(words));
		a = step(a, words[0]);
		b = step(b, words[1]);
		c = step(c, words[2]);
		d = step(d, words[3]);
	}
	return (fold(a) + fold(b) * 3 + fold(c) * 5 + fold(d) * 7) | SUM_COVERED;
}
