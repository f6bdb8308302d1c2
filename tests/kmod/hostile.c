// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * New kernel: tables that the module must not take, each with the reason that it must give.
 *
 * The stub refuses most of them already, so that here the table is damaged after the kernel has reserved it (kup_spoil), and
 * put back each time: the last one is whole.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "common.h"

static const struct {
	const char *what, *reason;
} damages[] = {
	{ "magic", "no table there" },
	{ "version", "unknown version" },
	{ "nonce", "table of another switch" },
	{ "header-address", "damaged header" },
	{ "zero", "damaged header" },
	{ "not-reserved", "this kernel has not reserved it" },
	{ "state", "this kernel has not reserved it" },
	{ "no-runs", "number of runs or extents out of bounds" },
	{ "many-runs", "number of runs or extents out of bounds" },
	{ "more-runs", "extents do not fit the number of runs" },
	{ "extents", "number of runs or extents out of bounds" },
	{ "extent-nowhere", "extent is not reserved memory" },
	{ "extent-long", "extent is not reserved memory" },
	{ "extent-foreign", "extent is not reserved memory" },
	{ "digest", "wrong digest" },
	{ "content", "wrong digest" },
	{ "order", "runs are not sorted or overlap" },
	{ "overlap", "runs are not sorted or overlap" },
	{ "empty-run", "run is not reserved memory" },
	{ "run-nowhere", "run is not reserved memory" },
	{ "run-highest", "run is not reserved memory" },
	{ "run-low", "run is not reserved memory" },
	{ "run-long", "run is not reserved memory" },
	{ "frames", "number of frames is wrong" },
	{ "owners-none", "list of owners is out of bounds" },
	{ "owners-many", "list of owners is out of bounds" },
	{ "owners-nowhere", "list of owners leaves the table" },
	{ "owners-huge", "list of owners leaves the table" },
	{ "owners-foreign", "list of owners leaves the table" },
	{ "owners-ring", "list of owners has no end" },
	{ "owners-digest", "wrong digest of the list of owners" },
	{ "owners-pages", "number of pages is wrong" },
	{ "area-empty", "list of owners is cut off" },
	{ "area-long", "list of owners is cut off" },
	{ "area-order", "areas do not ascend" },
	{ "area-high", "an area is out of bounds" },
	{ "area-end", "an area is out of bounds" },
	{ "owner-foreign", "an owner's frame is not in the table" },
	{ "owner-none", "an owner's frame is not in the table" },
	{ "owner-table", "an owner's frame is the table's" },
	{ "owner-owners", "an owner's frame is the table's" },
};

#define DAMAGES (sizeof(damages) / sizeof(*damages))

/* The module's last word in the log. */
static const char *last_word(void)
{
	static char log[1 << 18];
	int size = klogctl(3, log, sizeof(log) - 1);
	char *found, *last = NULL;

	log[size > 0 ? size : 0] = 0;
	for (found = log; (found = strstr(found, "kup_ppp: ")); found++)
		last = found + strlen("kup_ppp: ");
	if (last)
		last[strcspn(last, "\n")] = 0;
	return last ?: "";
}

static void refused_table(const char *parameters, const char *what, const char *reason)
{
	int error = load_module("/kup_ppp.ko", parameters);
	const char *said = last_word();

	if (error != EINVAL || strcmp(said, reason)) {
		say("failed table with %s: error %d, log '%s', expected '%s'", what, error, said, reason);
		power_off();
	}
}

static void refused_place(uint64_t address, uint64_t nonce, const char *reason)
{
	char parameters[128], log[128];

	snprintf(parameters, sizeof(parameters), "table=0x%" PRIx64 ",0x%" PRIx64, address, nonce);
	snprintf(log, sizeof(log), "table refused: %s", reason);
	refused_table(parameters, parameters, log);
}

static void refused_text(const char *text)
{
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "table=%s", text);
	refused_table(parameters, text, "table is not 0xADDRESS,0xNONCE");
}

static uint64_t used_memory(void)
{
	static char page[PAGE] __attribute__((aligned(PAGE))) = { 1 };
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry;

	page[1] = 1;
	require(pread(pagemap, &entry, 8, (uintptr_t)page / PAGE * 8) == 8 && entry >> 63, "pagemap");
	close(pagemap);
	return (entry & ((1ull << 55) - 1)) * PAGE;
}

static uint64_t kernel_code(void)
{
	FILE *file = fopen("/proc/iomem", "r");
	uint64_t address = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "Kernel code"))
			sscanf(line, "%" SCNx64, &address);
	require(file && address && !fclose(file), "/proc/iomem");
	return address;
}

void hostile_tables(uint64_t address, uint64_t nonce)
{
	char parameters[128], damage[128], reason[128];
	unsigned int refusals = 0;

	refused_place(address, nonce + 1, "table of another switch");
	refused_place(address + PAGE / 2, nonce, "address is not reserved memory");
	refused_place(0, nonce, "address is not reserved memory");
	/* Memory in use, as after a boot that has not reserved anything; and what the kernel has reserved for itself. */
	refused_place(used_memory(), nonce, "address is not reserved memory");
	refused_place(kernel_code(), nonce, "no table there");
	refused_place(1ull << 51, nonce, "address is not reserved memory");
	refused_place(~0ull & -PAGE, nonce, "address is not reserved memory");
	refused_text("0x1000");
	refused_text("1000,2000");
	refused_text("0x1000,0x");
	refused_text("0x1000,0x10000000000000000");
	refused_text("0x00000000000000000000000000001000,0x1");
	snprintf(parameters, sizeof(parameters), "table=0x%" PRIx64 ",0x%" PRIx64, address, nonce);
	for (unsigned int i = 0; i < DAMAGES; i++) {
		snprintf(damage, sizeof(damage), "address=0x%" PRIx64 " what=%s", address, damages[i].what);
		snprintf(reason, sizeof(reason), "table refused: %s", damages[i].reason);
		require(!load_module("/kup_spoil.ko", damage), damages[i].what);
		refused_table(parameters, damages[i].what, reason);
		require(!unload_module("kup_spoil"), "kup_spoil to be unloaded");
		refusals++;
	}
	say("damaged %u", refusals);
}
