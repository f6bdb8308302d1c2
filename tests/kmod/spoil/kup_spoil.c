// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests only: damage the table that this kernel has reserved in one way, and put it back when unloaded.
 *
 *	insmod kup_spoil.ko address=0xADDRESS what=NAME
 *
 * Digests are made right again, so that other checks have to find the damage; but not those that are the damage themselves, or
 * that nothing can be read for.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/xxhash.h>

#include "owner.h"

static unsigned long address;
module_param(address, ulong, 0);

static char *what = "";
module_param(what, charp, 0);

/* The table's pages that are changed: header, first of the runs, first of the owners; and what was in them. */
static u64 *places[3];
static u64 kept[3][512];
static struct page *foreign;

static void *frame(u64 number)
{
	return page_address(pfn_to_page(number));
}

static void digest_runs(struct kup_table *table)
{
	struct xxh64_state hash;
	u32 i;

	xxh64_reset(&hash, 0);
	xxh64_update(&hash, &table->version, PAGE_SIZE - offsetof(struct kup_table, version));
	for (i = 0; i < table->extents; i++)
		xxh64_update(&hash, frame(kup_run_first(table->extent[i])), kup_run_frames(table->extent[i]) << PAGE_SHIFT);
	table->digest = xxh64_digest(&hash);
}

static void digest_owners(struct kup_table *table)
{
	u64 number = table->owner[KUP_OWNER_FIRST], pages = DIV_ROUND_UP(table->owner[KUP_OWNER_LENGTH], KUP_OWNER_WORDS);
	struct xxh64_state hash;

	xxh64_reset(&hash, 0);
	for (; pages && number && pfn_valid(number); pages--, number = *(u64 *)frame(number))
		xxh64_update(&hash, frame(number), PAGE_SIZE);
	table->owner[KUP_OWNER_DIGEST] = xxh64_digest(&hash);
}

/* A frame that is no memory of this machine, but a number that fits. */
#define NOWHERE (1ull << 38)

static int damage(void)
{
	struct kup_table *table = (void *)places[0];
	u64 *runs = places[1], *owners = places[2], *last = runs + (table->runs - 1) % 512;
	/* The first area: head, page, runs. */
	u64 *head = owners + 1, *page = owners + 2, *run = owners + 3;
	/* Of the next two, which were right before: those that are to be wrong afterwards. */
	bool keep_digest = false, keep_owners_digest = false;

	if (!strcmp(what, "magic")) {
		table->magic ^= 1;
	} else if (!strcmp(what, "version")) {
		table->version++;
	} else if (!strcmp(what, "nonce")) {
		table->nonce++;
	} else if (!strcmp(what, "header-address")) {
		table->address += PAGE_SIZE;
	} else if (!strcmp(what, "zero")) {
		table->zero = 1;
	} else if (!strcmp(what, "not-reserved")) {
		table->state = 0;
	} else if (!strcmp(what, "state")) {
		table->state ^= 1;
	} else if (!strcmp(what, "no-runs")) {
		table->runs = 0;
	} else if (!strcmp(what, "many-runs")) {
		table->runs = ~0ull;
	} else if (!strcmp(what, "more-runs")) {
		table->runs += 512;
	} else if (!strcmp(what, "extents")) {
		table->extents = KUP_TABLE_EXTENTS + 1;
		keep_digest = true;
	} else if (!strcmp(what, "extent-nowhere")) {
		table->extent[0] = kup_run(NOWHERE, 1);
		keep_digest = true;
	} else if (!strcmp(what, "extent-long")) {
		table->extent[0] |= KUP_RUN_MAX;
		keep_digest = true;
	} else if (!strcmp(what, "extent-foreign")) {
		table->extent[0] = kup_run(page_to_pfn(foreign), kup_run_frames(table->extent[0]));
		keep_digest = true;
	} else if (!strcmp(what, "digest")) {
		table->digest ^= 1;
		keep_digest = true;
	} else if (!strcmp(what, "content")) {
		runs[0] ^= 1ull << 30;
		keep_digest = true;
	} else if (!strcmp(what, "order")) {
		swap(runs[0], runs[1]);
	} else if (!strcmp(what, "overlap")) {
		runs[1] = runs[0];
	} else if (!strcmp(what, "empty-run")) {
		runs[0] &= ~KUP_RUN_MAX;
	} else if (!strcmp(what, "run-nowhere")) {
		*last = kup_run(NOWHERE, 1);
	} else if (!strcmp(what, "run-highest")) {
		*last = ~0ull;
	} else if (!strcmp(what, "run-low")) {
		runs[0] = kup_run(1, 1);
	} else if (!strcmp(what, "run-long")) {
		*last |= KUP_RUN_MAX;
	} else if (!strcmp(what, "frames")) {
		table->frames++;
	} else if (!strcmp(what, "owners-none")) {
		table->owner[KUP_OWNER_LENGTH] = 0;
	} else if (!strcmp(what, "owners-many")) {
		table->owner[KUP_OWNER_LENGTH] = ~0ull;
		table->owner[KUP_OWNER_FIRST] = 0;
		keep_owners_digest = true;
	} else if (!strcmp(what, "owners-nowhere")) {
		table->owner[KUP_OWNER_FIRST] = NOWHERE;
	} else if (!strcmp(what, "owners-huge")) {
		table->owner[KUP_OWNER_FIRST] = ~0ull;
	} else if (!strcmp(what, "owners-foreign")) {
		table->owner[KUP_OWNER_FIRST] = page_to_pfn(foreign);
	} else if (!strcmp(what, "owners-ring")) {
		owners[0] = table->owner[KUP_OWNER_FIRST];
	} else if (!strcmp(what, "owners-digest")) {
		table->owner[KUP_OWNER_DIGEST] ^= 1;
		keep_owners_digest = true;
	} else if (!strcmp(what, "owners-pages")) {
		table->owner[KUP_OWNER_PAGES]++;
	} else if (!strcmp(what, "area-empty")) {
		*head &= ~0xffffffffull;
	} else if (!strcmp(what, "area-long")) {
		*head |= 0xffffffffull;
	} else if (!strcmp(what, "area-order")) {
		*head |= 1ull << 63;
	} else if (!strcmp(what, "area-high")) {
		*page = 1ull << 50;
	} else if (!strcmp(what, "area-end")) {
		*page = (TASK_SIZE_MAX >> PAGE_SHIFT) - 1;
		*run |= 2;
	} else if (!strcmp(what, "owner-foreign")) {
		*run = kup_run(page_to_pfn(foreign), 1);
	} else if (!strcmp(what, "owner-table")) {
		*run = kup_run(address >> PAGE_SHIFT, 1);
	} else if (!strcmp(what, "owner-owners")) {
		*run = kup_run(table->owner[KUP_OWNER_FIRST], 1) | KUP_OWNER_DOWN;
	} else if (!strcmp(what, "owner-none")) {
		*run = KUP_OWNER_DOWN | kup_run(kup_run_first(*run), 0);
	} else {
		return -EINVAL;
	}
	if (!keep_owners_digest)
		digest_owners(table);
	if (!keep_digest)
		digest_runs(table);
	return 0;
}

static int __init start(void)
{
	struct kup_table *table = frame(address >> PAGE_SHIFT);
	int i, error;

	places[0] = (u64 *)table;
	places[1] = frame(kup_run_first(table->extent[0]));
	places[2] = frame(table->owner[KUP_OWNER_FIRST]);
	foreign = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!foreign)
		return -ENOMEM;
	for (i = 0; i < 3; i++)
		memcpy(kept[i], places[i], PAGE_SIZE);
	error = damage();
	if (error)
		__free_page(foreign);
	return error;
}

static void __exit end(void)
{
	int i;

	for (i = 0; i < 3; i++)
		memcpy(places[i], kept[i], PAGE_SIZE);
	__free_page(foreign);
}

module_init(start);
module_exit(end);
MODULE_DESCRIPTION("Tests of kup_ppp with damaged tables");
MODULE_AUTHOR("the kup.fleet authors");
MODULE_LICENSE("GPL");
