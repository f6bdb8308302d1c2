// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The only process of a test machine, in both of its kernels.
 *
 * In the first (no table on the command line) it takes memory of its own as the frames to keep: it asks for their numbers,
 * writes a pattern that depends on them, lays out the table, loads the patched kernel and jumps. In the second it fills
 * all memory that is free, and only then compares every byte of every frame: a frame that nobody has reserved is
 * overwritten by then.
 *
 * Words of the first command line:
 *	kuptest.window=A-B	first and last byte of the memory that the second kernel is loaded to
 *	kuptest.frames=N	frames to keep
 *	kuptest.spoil=WHAT	what is to be wrong with the table: magic, digest, order, overlap, range, nonce, reserved
 *	kuptest.unchecked	load without the purgatory's check
 *	kuptest.sums		load with check sums of ours in its place, by /kup_sums.so
 *	kuptest.flip=N,OFFSET	and then make this byte of the Nth segment wrong
 *	kuptest.file		load with kexec_file_load, which chooses the place itself: only with kuptest.stock
 *	kuptest.nokaslr		start the second kernel with nokaslr
 *	kuptest.stock		do not name a table to the second kernel: what its start costs without one
 * Results are lines "KUPTEST key value" on the console. The processor's counter of time goes on through the jump.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/reboot.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "../../files/stub/table.h"
#include "../../files/stub/xxh64.h"

#define PAGE 4096ul
/* Frames of a block of 2 MiB, and what /proc/kpageflags says of a reserved one. */
#define BLOCK 512ul
#define RESERVED (1ull << 32)

/* No frame to keep lies below this: the second kernel wants memory for devices and for starting processors there. */
#define LOWEST 0x1000000ul

/* Left to the second kernel when everything else is filled. */
#define SPARE_KB 24576

static char command_line[4096];

/* Where kexec puts the second kernel, first and last byte: no frame to keep may lie in there. */
static unsigned long window_start, window_end;

static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("KUPTEST ");
	vprintf(format, arguments);
	printf("\n");
	fflush(stdout);
	va_end(arguments);
}

static void power_off(void)
{
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART, NULL);
	for (;;)
		pause();
}

static void fail(const char *what)
{
	say("failed %s: %s", what, strerror(errno));
	power_off();
}

static const char *word(const char *name)
{
	const char *found = strstr(command_line, name);

	return found ? found + strlen(name) : NULL;
}

static uint64_t pattern(uint64_t frame, unsigned int index, uint64_t nonce)
{
	uint64_t value = (frame << 9 | index) * 0x9e3779b97f4a7c15ull + nonce;

	return value ^ value >> 29;
}

static double uptime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int by_number(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return one < two ? -1 : one > two;
}

/* A page of ours and the frame that it lies in. */
struct page {
	uint64_t frame;
	uint64_t *words;
};

static long available_kb(void)
{
	char line[128];
	long kb = 0;
	FILE *meminfo = fopen("/proc/meminfo", "r");

	while (meminfo && fgets(line, sizeof(line), meminfo))
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	if (meminfo)
		fclose(meminfo);
	return kb;
}

static size_t keep_pages(struct page *pages, size_t wanted)
{
	/* All memory but what loading the second kernel takes, as most of it lies where that goes. */
	size_t tries = (size_t)(available_kb() - 4 * SPARE_KB) * 1024 / PAGE, kept = 0;
	char *area = mmap(NULL, tries * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *entries = malloc(tries * 8);
	int pagemap = open("/proc/self/pagemap", O_RDONLY);

	if (area == MAP_FAILED || !entries || pagemap < 0)
		fail("memory");
	madvise(area, tries * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < tries; i++)
		area[i * PAGE] = 1;
	if (pread(pagemap, entries, tries * 8, (uintptr_t)area / PAGE * 8) != (ssize_t)(tries * 8))
		fail("pagemap");
	for (size_t i = 0; i < tries; i++) {
		uint64_t frame = entries[i] & ((1ull << 55) - 1);

		/* Runs of a few frames, as memory that has been in use for a while has them, and every eighth block as a whole. */
		bool is_hole = frame / BLOCK % 8 && frame * 0x9e3779b97f4a7c15ull >> 62 == 0;

		if (frame < LOWEST / PAGE || (frame >= window_start / PAGE && frame <= window_end / PAGE) || kept == wanted ||
		    is_hole)
			madvise(area + i * PAGE, PAGE, MADV_DONTNEED);
		else
			pages[kept++] = (struct page){ frame, (uint64_t *)(area + i * PAGE) };
	}
	free(entries);
	qsort(pages, kept, sizeof(*pages), by_number);
	return kept;
}

static uint64_t digest(const struct kup_table *table, uint64_t **lists)
{
	struct xxh64 hash;

	xxh64_begin(&hash);
	xxh64_add(&hash, (const uint64_t *)&table->version, (PAGE - offsetof(struct kup_table, version)) / 32);
	for (uint32_t i = 0; i < table->extents; i++)
		xxh64_add(&hash, lists[i], PAGE / 32);
	return xxh64_end(&hash);
}

static bool spoiled(const char *what)
{
	const char *spoil = word("kuptest.spoil=");

	return spoil && !strncmp(spoil, what, strlen(what));
}

static void load(uint64_t address, uint64_t nonce)
{
	char line[256];
	int status = -1;
	pid_t child;

	snprintf(line, sizeof(line), "--command-line=console=ttyS0 panic=-1 quiet%s", word("kuptest.nokaslr") ? " nokaslr" : "");
	if (!word("kuptest.stock"))
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " kup_ppp.table=0x%" PRIx64 ",0x%" PRIx64, address,
			 nonce);
	child = fork();
	if (!child) {
		char low[32], high[32];

		snprintf(low, sizeof(low), "--mem-min=0x%lx", window_start);
		snprintf(high, sizeof(high), "--mem-max=0x%lx", window_end);
		if (word("kuptest.sums"))
			setenv("LD_PRELOAD", "/kup_sums.so", 1);
		if (word("kuptest.flip="))
			setenv("KUPTEST_FLIP", strtok(strdup(word("kuptest.flip=")), " \n"), 1);
		if (word("kuptest.file"))
			execl("/kexec", "kexec", "-s", "-l", "/kernel", "--initrd=/initrd", line, NULL);
		execl("/kexec", "kexec", "-c", "-l", "/kernel", "--initrd=/initrd", low, high, line,
		      word("kuptest.unchecked") || word("kuptest.sums") ? "--no-checks" : NULL, NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("kexec -l");
}

static void first(void)
{
	size_t wanted = word("kuptest.frames=") ? strtoul(word("kuptest.frames="), NULL, 10) : 1000;
	struct page *pages = calloc(wanted, sizeof(*pages));
	uint64_t *runs = calloc(wanted + 1, 8), *lists[KUP_TABLE_EXTENTS], nonce;
	struct kup_table *table;
	size_t kept, count = 0, own;
	double start;

	if (!word("kuptest.window=") || sscanf(word("kuptest.window="), "%lx-%lx", &window_start, &window_end) != 2)
		fail("window");
	if (!pages || !runs || getentropy(&nonce, sizeof(nonce)))
		fail("memory");
	kept = keep_pages(pages, wanted);
	for (size_t i = 0; i < kept; i++) {
		uint64_t frame = pages[i].frame;

		if (count && kup_run_first(runs[count - 1]) + kup_run_frames(runs[count - 1]) == frame)
			runs[count - 1]++;
		else
			runs[count++] = frame << 24 | 1;
	}
	own = (count + 511) / 512;
	if (own > KUP_TABLE_EXTENTS || kept < own + 2)
		fail("too many runs");

	/* The table lies in some of the frames: the header in the one in the middle, the lists in every third from the end. */
	struct page header = pages[kept / 2];
	size_t at = kept;

	table = (struct kup_table *)header.words;
	memset(table, 0, PAGE);
	table->magic = KUP_TABLE_MAGIC;
	table->version = KUP_TABLE_VERSION;
	table->nonce = nonce;
	table->address = header.frame * PAGE;
	table->runs = count;
	table->frames = kept;
	for (size_t i = 0; i < own; i++) {
		at -= at > 3 * own ? 3 : 1;
		if (pages[at].frame == header.frame)
			at--;
		table->extent[table->extents] = pages[at].frame << 24 | 1;
		lists[table->extents++] = pages[at].words;
	}
	for (size_t i = 0; i < kept; i++)
		for (unsigned int k = 0; k < 512; k++)
			if (pages[i].frame != header.frame)
				pages[i].words[k] = pattern(pages[i].frame, k, nonce);
	if (spoiled("order")) {
		uint64_t swap = runs[10];

		runs[10] = runs[11];
		runs[11] = swap;
	}
	if (spoiled("overlap"))
		runs[10] = kup_run_first(runs[10]) << 24 | (kup_run_first(runs[11]) - kup_run_first(runs[10]) + 1);
	if (spoiled("range"))
		runs[count - 1] += 1ull << 20;
	if (spoiled("reserved"))
		runs[0] = (window_start / PAGE) << 24 | (window_end - window_start) / PAGE; /* the second kernel itself */
	for (size_t i = 0; i < own; i++) {
		memset(lists[i], 0, PAGE);
		memcpy(lists[i], runs + i * 512, (i + 1 == own ? count - i * 512 : 512) * 8);
	}
	table->digest = digest(table, lists) ^ spoiled("digest");
	if (spoiled("magic"))
		table->magic ^= 1;
	start = uptime();
	load(header.frame * PAGE, spoiled("nonce") ? nonce + 1 : nonce);
	say("load_s %.2f", uptime() - start);
	say("frames %zu", kept);
	say("runs %zu", count);
	say("jump %llu", __rdtsc());
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	fail("kexec");
}

/* Read physical memory of the running kernel through /proc/kcore: /dev/mem refuses RAM. */
static void read_frames(uint64_t frame, size_t count, void *into)
{
	static Elf64_Phdr segments[512];
	static int kcore = -1;
	static size_t known;

	if (kcore < 0) {
		Elf64_Ehdr header;

		kcore = open("/proc/kcore", O_RDONLY);
		if (kcore < 0 || pread(kcore, &header, sizeof(header), 0) != sizeof(header) || header.e_phnum > 512)
			fail("kcore");
		known = header.e_phnum;
		if (pread(kcore, segments, known * sizeof(*segments), header.e_phoff) != (ssize_t)(known * sizeof(*segments)))
			fail("kcore");
	}
	for (size_t i = 0; i < known; i++) {
		uint64_t start = segments[i].p_paddr;

		/* Only the direct map has physical addresses there. */
		if (segments[i].p_type != PT_LOAD || start == ~0ull || (start == 0 && i == 0) || frame * PAGE < start ||
		    (frame + count) * PAGE > start + segments[i].p_memsz)
			continue;
		if (pread(kcore, into, count * PAGE, segments[i].p_offset + frame * PAGE - start) == (ssize_t)(count * PAGE))
			return;
	}
	say("failed frame %" PRIx64 " cannot be read", frame);
	power_off();
}

static void fill(void)
{
	FILE *reserve = fopen("/proc/sys/vm/min_free_kbytes", "w");
	size_t pages = 0;

	/* What the kernel holds back for itself is to be filled as well. */
	if (!reserve || fputs("2048", reserve) < 0 || fclose(reserve))
		fail("min_free_kbytes");

	for (long kb; (kb = available_kb()) > SPARE_KB;) {
		size_t size = (size_t)(kb - SPARE_KB / 2) / 2 * 1024 & -PAGE;
		char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED)
			fail("fill");
		memset(area, 0xa5, size);
		pages += size / PAGE;
	}
	say("filled %zu", pages);
}

static void print_log(void)
{
	static char log[1 << 20];
	int size = klogctl(3, log, sizeof(log) - 1);
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); size > 0 && line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, "kup_ppp: "))
			say("log %s", strstr(line, "kup_ppp: ") + 9);
		else if (strstr(line, "WARNING:") || strstr(line, "BUG") || strstr(line, "Call Trace"))
			say("warning %s", line);
}

static void print_symbols(void)
{
	char line[512], name[256];
	unsigned long address;
	FILE *symbols = fopen("/proc/kallsyms", "r");

	while (symbols && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && !strcmp(name, "_text")) {
			say("text %lx", address);
			break;
		}
	if (symbols)
		fclose(symbols);
}

static void print_place(void)
{
	char line[256], address[64];
	FILE *iomem = fopen("/proc/iomem", "r");

	while (iomem && fgets(line, sizeof(line), iomem))
		if (strstr(line, "Kernel code") && sscanf(line, " %63[0-9a-f]", address) == 1)
			say("physical %s", address);
	if (iomem)
		fclose(iomem);
}

static void print_direct_map(void)
{
	Elf64_Phdr segment;
	int kcore = open("/proc/kcore", O_RDONLY);

	for (int i = 0; i < 64; i++)
		if (pread(kcore, &segment, sizeof(segment), sizeof(Elf64_Ehdr) + i * sizeof(segment)) == sizeof(segment) &&
		    segment.p_type == PT_LOAD && segment.p_paddr != ~0ull && segment.p_paddr >= PAGE && segment.p_paddr < 1 << 20)
			say("direct_map %llx", (unsigned long long)(segment.p_vaddr - segment.p_paddr));
	close(kcore);
}

/* Counts whole blocks among the runs, whose struct pages may be copies, and frames that are not reserved and nothing else. */
static void look_at_pages(const struct kup_table *table, uint64_t list[][512])
{
	int flags = open("/proc/kpageflags", O_RDONLY);
	uint64_t blocks = 0, unlike = 0, value;

	if (flags < 0)
		fail("/proc/kpageflags");
	for (uint64_t i = 0; i < table->runs; i++) {
		uint64_t run = list[i / 512][i % 512], frame = kup_run_first(run), end = frame + kup_run_frames(run);
		uint64_t first_block = (frame + BLOCK - 1) / BLOCK, last_block = end / BLOCK;

		blocks += last_block > first_block ? last_block - first_block : 0;
		for (; frame < end; frame++)
			unlike += pread(flags, &value, 8, frame * 8) != 8 || value != RESERVED;
	}
	close(flags);
	say("blocks %" PRIu64, blocks);
	say("unlike %" PRIu64, unlike);
}

static void second(const char *text)
{
	uint64_t address = strtoull(text, NULL, 16), nonce = strtoull(strchr(text, ',') + 1, NULL, 16), right = 0, wrong = 0,
		 own = 0;
	static struct kup_table table;
	static uint64_t list[KUP_TABLE_EXTENTS][512], *lists[KUP_TABLE_EXTENTS];
	uint64_t *buffer = malloc(256 * PAGE);

	fill();
	print_log();
	read_frames(address / PAGE, 1, &table);
	if (table.magic != KUP_TABLE_MAGIC || table.state != (KUP_TABLE_RESERVED ^ nonce)) {
		say("state not reserved");
		return;
	}
	if (!buffer || table.extents > KUP_TABLE_EXTENTS || table.runs > table.extents * 512)
		fail("table");
	for (uint32_t i = 0; i < table.extents; i++) {
		read_frames(kup_run_first(table.extent[i]), 1, list[i]);
		lists[i] = list[i];
	}
	if (digest(&table, lists) != table.digest)
		say("failed the table has changed");
	for (uint64_t i = 0; i < table.runs; i++) {
		uint64_t run = list[i / 512][i % 512], frame = kup_run_first(run), left = kup_run_frames(run);

		for (size_t n; left; frame += n, left -= n) {
			n = left < 256 ? left : 256;
			read_frames(frame, n, buffer);
			for (size_t p = 0; p < n; p++) {
				bool same = true, is_own = frame + p == address / PAGE;

				for (uint32_t e = 0; e < table.extents && !is_own; e++)
					is_own = kup_run_first(table.extent[e]) == frame + p;
				for (unsigned int k = 0; k < 512 && same && !is_own; k++)
					same = buffer[p * 512 + k] == pattern(frame + p, k, nonce);
				own += is_own;
				right += same;
				wrong += !same;
			}
		}
	}
	look_at_pages(&table, list);
	say("state reserved");
	say("right %" PRIu64, right);
	say("wrong %" PRIu64, wrong);
	say("own %" PRIu64, own);
}

int main(void)
{
	unsigned long long tsc = __rdtsc();
	double start = uptime();
	int file;
	ssize_t size;

	mkdir("/proc", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		fail("mount");
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL) && errno != EBUSY)
		fail("mount /dev");
	file = open("/dev/console", O_RDWR);
	dup2(file, 0);
	dup2(file, 1);
	dup2(file, 2);
	file = open("/proc/cmdline", O_RDONLY);
	size = read(file, command_line, sizeof(command_line) - 1);
	close(file);
	if (size <= 0)
		fail("cmdline");
	if (command_line[size - 1] == '\n')
		command_line[size - 1] = 0;
	/* The second kernel has no third one to load. */
	if (access("/kernel", F_OK) == 0) {
		first();
	} else {
		char version[256] = "";

		file = open("/proc/sys/kernel/osrelease", O_RDONLY);
		size = read(file, version, sizeof(version) - 1);
		close(file);
		version[size > 0 ? size - 1 : 0] = 0;
		say("release %s", version);
		say("init %llu", tsc);
		say("start_s %.3f", start);
		print_symbols();
		print_place();
		print_direct_map();
		if (word("kup_ppp.table="))
			second(word("kup_ppp.table="));
		else
			print_log();
		say("end");
	}
	power_off();
}
