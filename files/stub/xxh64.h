/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* XXH64 (seed 0) of whole 32-byte stripes: the kernel's xxh64() gives the same for the same bytes. */
#ifndef KUP_XXH64_H
#define KUP_XXH64_H

#include <stdint.h>

struct xxh64 {
	uint64_t lane[4];
	uint64_t length;
};

#define XXH64_P1 0x9e3779b185ebca87ull
#define XXH64_P2 0xc2b2ae3d27d4eb4full
#define XXH64_P3 0x165667b19e3779f9ull
#define XXH64_P4 0x85ebca77c2b2ae63ull

static inline uint64_t xxh64_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

static inline uint64_t xxh64_round(uint64_t lane, uint64_t input)
{
	return xxh64_rotate(lane + input * XXH64_P2, 31) * XXH64_P1;
}

static inline void xxh64_begin(struct xxh64 *hash)
{
	hash->lane[0] = XXH64_P1 + XXH64_P2;
	hash->lane[1] = XXH64_P2;
	hash->lane[2] = 0;
	hash->lane[3] = 0 - XXH64_P1;
	hash->length = 0;
}

/* @stripes: number of 32-byte stripes at @words. */
static inline void xxh64_add(struct xxh64 *hash, const uint64_t *words, uint64_t stripes)
{
	uint64_t a = hash->lane[0], b = hash->lane[1], c = hash->lane[2], d = hash->lane[3];

	hash->length += stripes * 32;
	for (; stripes; stripes--, words += 4) {
		a = xxh64_round(a, words[0]);
		b = xxh64_round(b, words[1]);
		c = xxh64_round(c, words[2]);
		d = xxh64_round(d, words[3]);
	}
	hash->lane[0] = a;
	hash->lane[1] = b;
	hash->lane[2] = c;
	hash->lane[3] = d;
}

static inline uint64_t xxh64_end(const struct xxh64 *hash)
{
	uint64_t value = xxh64_rotate(hash->lane[0], 1) + xxh64_rotate(hash->lane[1], 7) + xxh64_rotate(hash->lane[2], 12) +
			 xxh64_rotate(hash->lane[3], 18);

	for (int i = 0; i < 4; i++)
		value = (value ^ xxh64_round(0, hash->lane[i])) * XXH64_P1 + XXH64_P4;
	value += hash->length;
	value = (value ^ value >> 33) * XXH64_P2;
	value = (value ^ value >> 29) * XXH64_P3;
	return value ^ value >> 32;
}

#endif
