/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a byte of what is loaded wrong, after it was summed up. Put into files/sums/kup_sums.c by machine.py. */
#include <stdlib.h>

/* KUPTEST_FLIP=N,OFFSET: of the segments but the purgatory's, in order of their addresses, the Nth. */
static void kuptest_flip(uint64_t entry, size_t count, const struct segment *segments)
{
	const char *text = getenv("KUPTEST_FLIP");
	const struct parameters *image;
	size_t wanted, offset;

	if (!text || sscanf(text, "%zu,%zu", &wanted, &offset) != 2)
		return;
	for (size_t i = 0; i < count; i++) {
		if (entry - segments[i].start < segments[i].size || wanted--)
			continue;
		image = image_of(&segments[i]);
		offset %= segments[i].content_size;
		if (image && offset >= image->stack && offset < image->relocations)
			offset += image->relocations - image->stack; /* nobody reads what was on the code's stack */
		segments[i].content[offset] ^= 4;
		printf("kup_sums: segment %zu of %zu is wrong\n", i, count);
		return;
	}
	abort();
}
