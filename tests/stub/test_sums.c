// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Check sums of segments: every byte that the next kernel starts with is in one region, the code in the image notices each that is wrong, and what
 * is no image of ours gets none.
 */
#define syscall kup_syscall
#include "../../files/sums/kup_sums.c"
#undef syscall

#include <assert.h>
#include <stdlib.h>

enum { IMAGE, INITRD, PARAMETERS, PURGATORY, SEGMENTS };

static const size_t SIZES[] = { 12 * PAGE, 3 * PAGE, 2 * PAGE, PAGE };
/* The image's file ends before its memory, and the initramfs with half a stripe. */
static const size_t CONTENTS[] = { 10 * PAGE + 16, 2 * PAGE + 17, 2 * PAGE, PAGE };

/* Where the command line begins in the segment of the boot parameters, at whose end there are KUP_TAIL zeros. */
enum { LINE = PAGE + 100 };

static unsigned char *memory[SEGMENTS];
static struct segment segments[SEGMENTS];

static void fill(unsigned char *to, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245 + 12345;
		to[i] = (unsigned char)(seed >> 16);
	}
}

static struct parameters *image_parameters(void)
{
	return (void *)(segments[IMAGE].content + KUP_BOOT_PARAMETERS);
}

static void set_line(uint64_t address)
{
	uint32_t low = (uint32_t)address, high = (uint32_t)(address >> 32);

	memcpy(segments[PARAMETERS].content + 0x228, &low, sizeof(low));
	memcpy(segments[PARAMETERS].content + 0x0c8, &high, sizeof(high));
}

static void set_up(void)
{
	struct kup_sums none = { .state = KUP_SUMS_NONE };

	for (int i = 0; i < SEGMENTS; i++) {
		free(memory[i]);
		free(segments[i].content);
		memory[i] = calloc(1, SIZES[i]);
		segments[i] = (struct segment){ malloc(CONTENTS[i]), CONTENTS[i], (uint64_t)memory[i], SIZES[i] };
		assert(memory[i] && segments[i].content);
		fill(segments[i].content, CONTENTS[i], 1 + (unsigned int)i);
	}
	memset(segments[PARAMETERS].content + CONTENTS[PARAMETERS] - KUP_TAIL, 0, KUP_TAIL);
	memset(segments[PARAMETERS].content + LINE, 'x', CONTENTS[PARAMETERS] - KUP_TAIL - LINE);
	memcpy(segments[PARAMETERS].content + 0x202, "HdrS", 4);
	set_line((uint64_t)memory[PARAMETERS] + LINE);
	*image_parameters() = (struct parameters){ .magic = KUP_BOOT_MAGIC, .relocations = 0x8000, .stack = 0x820 };
	memcpy(segments[IMAGE].content + KUP_BOOT_SUMS, &none, sizeof(none));
}

static size_t sum(void)
{
	return sum_segments((uint64_t)memory[PURGATORY] + 100, SEGMENTS, segments);
}

/* What kexec does. Returns the sums in the image's memory. */
static struct kup_sums *lay_out(void)
{
	for (int i = 0; i < SEGMENTS; i++)
		memcpy(memory[i], segments[i].content, segments[i].content_size);
	return (void *)(memory[IMAGE] + KUP_BOOT_SUMS);
}

static int is_summed(const struct kup_sums *sums, const unsigned char *byte)
{
	int found = 0;

	for (uint64_t i = 0; i < sums->count; i++)
		found += (uint64_t)byte - sums->region[i].start < sums->region[i].size;
	return found;
}

static void every_byte_counts(void)
{
	const struct kup_sums *sums;
	size_t tried = 0;

	set_up();
	assert(sum() == 5);
	sums = lay_out();
	assert(kup_sums_hold(sums));
	for (int i = 0; i < SEGMENTS; i++) {
		for (size_t at = 0; at < SIZES[i]; at++) {
			int is_stack = i == IMAGE && at >= 0x820 && at < 0x8000;
			int is_table = i == IMAGE && at >= KUP_BOOT_SUMS && at < KUP_BOOT_SUMS + sizeof(*sums);
			int is_tail = i == PARAMETERS && at >= SIZES[i] - KUP_TAIL;
			int counts = i != PURGATORY && !is_stack;

			assert(is_summed(sums, memory[i] + at) == (counts && !is_table));
			/* Each byte of the table, and about one in a hundred others: each takes a sum over all. */
			if (!is_table && (at * 2654435761u >> 7) % 97)
				continue;
			memory[i][at] ^= 0x10;
			assert(kup_sums_hold(sums) == (!counts || is_tail));
			if (!is_tail)
				memory[i][at] ^= 0x10;
			tried++;
		}
	}
	assert(kup_sums_hold(sums));
	printf("%zu bytes were wrong\n", tried);
}

/* The sums of other code that follows the definition: CRC-32C (iSCSI) of the bytes "123456789" is e3069283. */
static void sums_are_what_they_are_called(void)
{
	uint32_t crc = UINT32_MAX;
	uint64_t lane[KUP_LANES];
	unsigned char stripe[2 * KUP_STRIPE];

	fill(stripe, sizeof(stripe), 7);
	for (int i = 0; i < 16; i++) {
		crc ^= stripe[8 + i % 8 + i / 8 * KUP_STRIPE];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	kup_sum_begin(lane);
	kup_sum_add(lane, stripe, sizeof(stripe));
	assert(lane[1] == crc);
}

static void what_the_purgatory_writes_is_taken_away(void)
{
	static const unsigned char zeros[KUP_TAIL];
	unsigned char *end = NULL;
	const struct kup_sums *sums;

	set_up();
	assert(sum() == 5);
	sums = lay_out();
	end = memory[PARAMETERS] + CONTENTS[PARAMETERS] - KUP_TAIL;
	assert(sums->line_end == (uint64_t)end);
	strcpy((char *)end, " kexec_jump_back_entry=0xffffffffffffffff");
	assert(kup_sums_hold(sums) && !memcmp(end, zeros, KUP_TAIL));
	end[-1] = 'y';
	assert(!kup_sums_hold(sums));
}

static void an_image_without_sums_is_none_of_our_business(void)
{
	set_up();
	assert(kup_sums_hold(lay_out()));
}

static void refused(void)
{
	struct parameters good;

	set_up();
	good = *image_parameters();
	image_parameters()->magic[7] = '1';
	assert(!sum());
	*image_parameters() = good;
	image_parameters()->stack = KUP_BOOT_SUMS;
	assert(!sum());
	image_parameters()->stack = 0x8020;
	assert(!sum());
	image_parameters()->stack = 0x821;
	assert(!sum());
	*image_parameters() = good;
	image_parameters()->relocations = 11 * PAGE;
	assert(!sum());
	*image_parameters() = good;
	segments[IMAGE].content_size = KUP_BOOT_SUMS + 8;
	assert(!sum());
	segments[IMAGE].content_size = CONTENTS[IMAGE];
	segments[INITRD].size = 2 * PAGE;
	assert(!sum());
	segments[INITRD].size = 3 * PAGE + 1;
	assert(!sum());
	segments[INITRD].size = SIZES[INITRD];
	assert(!sum_segments(0, MOST_SEGMENTS + 1, segments));
	/* No command line, or none with room behind it. */
	set_line((uint64_t)memory[PARAMETERS] + CONTENTS[PARAMETERS]);
	assert(!sum());
	set_line((uint64_t)memory[INITRD]);
	assert(!sum());
	set_line((uint64_t)memory[PARAMETERS] + LINE);
	segments[PARAMETERS].content[CONTENTS[PARAMETERS] - 1] = 1;
	assert(!sum());
	segments[PARAMETERS].content[CONTENTS[PARAMETERS] - 1] = 0;
	segments[PARAMETERS].content[0x203] = 'x';
	assert(!sum());
	segments[PARAMETERS].content[0x203] = 'd';
	assert(sum() == 5);
	/* Two images. */
	memcpy(segments[PARAMETERS].content, segments[IMAGE].content, 2 * PAGE);
	((struct parameters *)(segments[PARAMETERS].content + KUP_BOOT_PARAMETERS))->relocations = 0x1000;
	assert(!sum());
	set_up();
	assert(sum() == 5);
}

int main(void)
{
	every_byte_counts();
	sums_are_what_they_are_called();
	what_the_purgatory_writes_is_taken_away();
	an_image_without_sums_is_none_of_our_business();
	refused();
	for (int i = 0; i < SEGMENTS; i++) {
		free(memory[i]);
		free(segments[i].content);
	}
	puts("passed");
	return 0;
}
