// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The code of a patched bzImage in place of the decompressor. The kernel lies behind it, unpacked, where it will run.
 *
 * It compares the check sums of all that was loaded. Then it does what the decompressor does for KASLR: choose a random virtual address,
 * apply the kernel's relocations, and tell the kernel to randomize its memory regions as well. The physical address is where kexec has put
 * the image.
 */
#include "boot.h"
#include "words.h"

/* Offsets in struct boot_params: Documentation/arch/x86/zero-page.rst and boot.rst */
#define EXT_CMD_LINE_PTR 0x0c8
#define LOADFLAGS 0x211
#define CMD_LINE_PTR 0x228
#define KASLR_FLAG 2

#define SLOT (2ull << 20)

__attribute__((section(".parameters"), used)) static volatile const struct parameters parameters = { .magic = KUP_BOOT_MAGIC };
__attribute__((section(".sums"), used)) static volatile const struct kup_sums sums = { .state = KUP_SUMS_NONE };

extern char image_start[] __attribute__((visibility("hidden")));

static uint64_t timestamp(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static int has_rdrand(void)
{
	uint32_t a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return c >> 30 & 1;
}

/* As the kernel's kaslr_get_random_long(): the processor's generator and its clock, stirred. */
static uint64_t random_number(void)
{
	uint64_t number = 0;
	unsigned char good = 0;

	if (has_rdrand())
		for (int tries = 0; tries < 10 && !good; tries++)
			__asm__ volatile("rdrand %0; setc %1" : "=r"(number), "=qm"(good));
	if (!good)
		number = 0;
	number ^= timestamp();
	number *= 0x9e3779b97f4a7c15ull;
	number ^= number >> 32;
	number *= 0xc2b2ae3d27d4eb4full;
	return number ^ number >> 29;
}

static const uint32_t *relocate(char *kernel, const uint32_t *list, uint32_t count, int kind, uint64_t delta)
{
	for (; count; count--, list++) {
		char *place = kernel + *list;

		if (kind == 0)
			*(uint64_t *)place += delta;
		else if (kind == 1)
			*(uint32_t *)place += (uint32_t)delta;
		else
			*(uint32_t *)place -= (uint32_t)delta;
	}
	return list;
}

/* Starts the machine anew: by the chipset's register, and where there is none by a fault that nobody handles. */
__attribute__((noreturn)) static void reset(void)
{
	struct {
		uint16_t size;
		uint64_t address;
	} __attribute__((packed)) nothing = { 0 };

	__asm__ volatile("outb %b0, %w1" : : "a"(2), "Nd"(0xcf9));
	__asm__ volatile("outb %b0, %w1" : : "a"(6), "Nd"(0xcf9));
	for (;;)
		__asm__ volatile("lidt %0; int3" : : "m"(nothing));
}

/* A kernel that is not as it was loaded must not run: the firmware starts the preserved one, which knows where the update stands. */
static void check_segments(void)
{
	const struct kup_sums *all = (const struct kup_sums *)&sums;

	__asm__("" : "+r"(all)); /* written since it was compiled */
	if (!kup_sums_hold(all))
		reset();
}

/* Returns the address of the kernel's first instruction. */
__attribute__((used)) void *boot(char *boot_params)
{
	char *kernel = image_start + parameters.kernel;
	const uint32_t *list = (const uint32_t *)(image_start + parameters.relocations);
	uint64_t line = *(uint32_t *)(boot_params + CMD_LINE_PTR) | (uint64_t)*(uint32_t *)(boot_params + EXT_CMD_LINE_PTR) << 32;
	const char *nokaslr = find_word((const char *)line, "nokaslr");
	uint64_t delta = 0;

	check_segments();
	boot_params[LOADFLAGS] &= ~KASLR_FLAG;
	if (!nokaslr || (*nokaslr && *nokaslr != ' ')) {
		boot_params[LOADFLAGS] |= KASLR_FLAG;
		delta = random_number() % parameters.slots * SLOT;
	}
	for (int kind = 0; kind < 3; kind++)
		list = relocate(kernel, list, parameters.count[kind], kind, delta);
	return kernel + parameters.entry;
}

/*
 * Entered in long mode with paging, interrupts off, and %rsi at the boot parameters; 0x200 is the 64-bit boot protocol's
 * entry. The 32-bit entry at 0 stops: only kexec can start this image.
 */
__asm__(".section .entry, \"ax\"\n"
	".globl image_start\n"
	"image_start:\n"
	"1:	cli\n"
	"	hlt\n"
	"	jmp 1b\n"
	"	.org 0x200, 0xcc\n"
	"	cli\n"
	"	cld\n"
	"	lea boot_stack_end(%rip), %rsp\n"
	"	push %rsi\n"
	"	push %rsi\n"
	"	mov %rsi, %rdi\n"
	"	call boot\n"
	"	pop %rsi\n"
	"	pop %rsi\n"
	"	jmp *%rax\n"
	".previous\n");
