// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Called by setup_arch() in place of e820__memblock_setup(): call that, then reserve the frames of the table. If that is done, and the
 * patcher has found the calls, memblock_free_all() is made to call pages_entry() for struct pages of reserved memory.
 *
 * The code lies behind the kernel's _end. Its distance from every symbol of the kernel is fixed, wherever KASLR has put
 * the kernel: the patcher writes the distances into `parameters`, and nothing here has to be relocated.
 */
#include "pages.h"
#include "reserve.h"

/* __START_KERNEL_map: phys_base is the difference between a kernel address and its physical address, less this */
#define KERNEL_MAP 0xffffffff80000000ull

/* KERN_SOH and the level, as in include/linux/kern_levels.h */
#define INFO "\0016"
#define ERROR "\0013"

/* Read and written by plugins/module_utils/_image/patch.py: signed distances from the start of this block. */
struct parameters {
	char magic[8];
	int32_t e820__memblock_setup;
	int32_t memblock;
	int32_t page_offset_base;
	int32_t phys_base;
	int32_t boot_command_line;
	int32_t printk;
	int32_t vmemmap_base;
	int32_t initialise; /* reserve_bootmem_region(), since 7.0 memmap_init_reserved_range() */
	int32_t calls[2];   /* of it in memblock_free_all(): the instructions; 0: none */
	int32_t room; /* bytes from here to the end of the room that the code has */
	int32_t zero;
};

/* Where the patcher lets the kernel jump to: right behind the parameters. */
__asm__(".pushsection .jump, \"ax\"\n"
	"jmp entry\n"
	".popsection");

/* By the linker script: the end of all of this. */
extern char blob_end[];

__attribute__((section(".parameters"), used)) static volatile const struct parameters parameters = { .magic = "KUPstub1" };

static void *symbol(int32_t distance)
{
	return (char *)&parameters + distance;
}

static void pages_entry(uint64_t start, uint64_t end, int nid)
{
	struct pages pages = { .memblock = symbol(parameters.memblock),
			       .vmemmap = *(char **)symbol(parameters.vmemmap_base),
			       .initialise = (void (*)(uint64_t, uint64_t, int))symbol(parameters.initialise) };

	initialise_pages(&pages, start, end, nid);
}

/* The kernel's text is not write-protected yet. */
static void redirect_calls(void)
{
	for (unsigned int i = 0; i < 2 && parameters.calls[i]; i++) {
		char *distance = (char *)symbol(parameters.calls[i]) + 1;

		*(int32_t *)distance = (char *)pages_entry - (distance + 4);
	}
}

__attribute__((used)) void entry(void)
{
	void (*setup)(void) = (void (*)(void))symbol(parameters.e820__memblock_setup);
	int (*printk)(const char *, ...) = (int (*)(const char *, ...))symbol(parameters.printk);
	struct reserve reserve;
	const char *wrong;

	setup();
	reserve.memblock = symbol(parameters.memblock);
	reserve.direct_map = *(char **)symbol(parameters.page_offset_base);
	reserve.keep_off = (uint64_t)&parameters - KERNEL_MAP + *(uint64_t *)symbol(parameters.phys_base);
	reserve.keep_off_end = reserve.keep_off + parameters.room;
	/* The room is free memory, and would be in use by the time of these calls. */
	reserve.code_size = parameters.calls[0] ? ((uint64_t)(blob_end - (char *)&parameters) + PAGE - 1) & ~(PAGE - 1) : 0;
	wrong = reserve_table(&reserve, symbol(parameters.boot_command_line));
	if (wrong) {
		printk(ERROR "kup_ppp: table refused: %s\n", wrong);
	} else if (reserve.table) {
		redirect_calls();
		printk(INFO "kup_ppp: reserved %llu frames in %llu runs\n", (unsigned long long)reserve.table->frames,
		       (unsigned long long)reserve.table->runs);
	}
}
