// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The only program of a test machine, in both of its kernels.
 *
 * In the first it starts a process with a pattern in its memory and one that shares memory with it copy-on-write, stops
 * them, has the module record and lay out, and jumps. In the second it fills all memory that is free, makes processes with
 * empty areas at the same addresses, has their pages bound, frees the rest and lets them run: they compare every byte,
 * and then do with their memory what processes do.
 *
 * Words of the first command line:
 *	kuptest.window=A-B	first and last byte of the memory that the second kernel is loaded to
 *	kuptest.spoil=WHAT	what is to be wrong with the table for the second kernel's module: nonce, address
 * Results are lines "KUPTEST key value" on the console.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/reboot.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../files/kmod/kup_ppp.h"

#define PAGE 4096ul
#define SPARE_KB 24576

static char command_line[4096];

static void say(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	dprintf(1, "KUPTEST %s\n", line);
}

static void power_off(void)
{
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART, NULL);
	for (;;)
		pause();
}

static void fail(const char *what)
{
	say("failed %s: %s", what, strerror(errno));
	power_off();
}

static void require(bool holds, const char *what)
{
	if (!holds)
		fail(what);
}

static const char *word(const char *name)
{
	const char *found = strstr(command_line, name);

	return found ? found + strlen(name) : NULL;
}

/* ---- the memory of the two tasks ---- */

struct area {
	uint64_t start, pages;
	int protection;
	bool huge, shared;
};

static const struct area areas[] = {
	{ 0x200000000000, 6000, PROT_READ | PROT_WRITE, false, false },
	{ 0x210000000000, 1024, PROT_READ | PROT_WRITE, true, false },
	{ 0x220000000000, 300, PROT_READ, false, false },
	{ 0x230000000000, 300, PROT_NONE, false, false },
	{ 0x240000001000, 2000, PROT_READ | PROT_WRITE, false, true },
};

#define AREAS (sizeof(areas) / sizeof(*areas))
#define TASKS 2

/* The second task has the shared area only. */
static bool has(int task, const struct area *area)
{
	return task == 0 || area->shared;
}

static uint64_t pattern(uint64_t address)
{
	uint64_t value = address * 0x9e3779b97f4a7c15ull;

	return value ^ value >> 29;
}

static void make(const struct area *area)
{
	void *at = mmap((void *)area->start, area->pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	require(at == (void *)area->start, "mmap");
	require(!madvise(at, area->pages * PAGE, area->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE), "madvise");
}

static void protect(const struct area *area, int protection)
{
	require(!mprotect((void *)area->start, area->pages * PAGE, protection), "mprotect");
}

static uint64_t wrong_words(const struct area *area)
{
	uint64_t wrong = 0;

	for (uint64_t at = area->start; at < area->start + area->pages * PAGE; at += 8)
		wrong += *(uint64_t *)at != pattern(at);
	return wrong;
}

static long meminfo_kb(const char *path, const char *format)
{
	char line[256];
	long kb = -1;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

/* ---- the module ---- */

static void load_module(const char *parameters, bool is_expected)
{
	int file = open("/kup_ppp.ko", O_RDONLY | O_CLOEXEC);
	long error = syscall(SYS_finit_module, file, parameters, 0);

	close(file);
	if (is_expected && error)
		fail("finit_module");
	if (!is_expected && !error)
		say("failed the table was not refused");
}

static int open_module(void)
{
	int device = open("/dev/kup_ppp", O_RDWR | O_CLOEXEC);

	require(device >= 0, "/dev/kup_ppp");
	return device;
}

/* A child that stops itself once its memory is there, and runs `then` when it is let go on. */
static pid_t start_stopped(void (*before)(void), void (*then)(void))
{
	int status;
	pid_t child = fork();

	require(child >= 0, "fork");
	if (!child) {
		before();
		raise(SIGSTOP);
		then();
		_exit(0);
	}
	require(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "the child to stop");
	return child;
}

static void check_status(int device, const char *when)
{
	struct kup_ppp_status status;

	require(!ioctl(device, KUP_PPP_STATUS, &status), "STATUS");
	say("log %s: state %u, pages %llu, bound %llu, moved %llu, frames %llu, runs %llu, own %llu", when, status.state, status.pages,
	    status.bound, status.moved, status.frames, status.runs, status.own);
}

/* ---- first kernel ---- */

static void fill_first(void)
{
	for (unsigned int i = 0; i < AREAS; i++) {
		make(areas + i);
		for (uint64_t at = areas[i].start; at < areas[i].start + areas[i].pages * PAGE; at += 8)
			*(uint64_t *)at = pattern(at);
		protect(areas + i, areas[i].protection);
	}
	/* The second task: a child, with which the shared area stays shared copy-on-write. */
	pid_t second = fork();

	require(second >= 0, "fork");
	if (!second)
		for (;;)
			raise(SIGSTOP);
	int file = open("/second", O_WRONLY | O_CREAT, 0600);
	dprintf(file, "%d", second);
	close(file);
	require(waitpid(second, NULL, WUNTRACED) == second, "the second task");
}

static void nothing(void)
{
}

static void record(int device, pid_t pid, int task)
{
	struct kup_ppp_range ranges[AREAS];
	struct kup_ppp_record record = { .pid = pid, .task = task, .ranges = (uintptr_t)ranges };

	for (unsigned int i = 0; i < AREAS; i++)
		if (has(task, areas + i))
			ranges[record.number++] = (struct kup_ppp_range){ areas[i].start, areas[i].start + areas[i].pages * PAGE };
	if (ioctl(device, KUP_PPP_RECORD, &record)) {
		say("log record task %d failed at %llx", task, record.failed_at);
		fail("RECORD");
	}
}

static void load(unsigned long start, unsigned long end, uint64_t address, uint64_t nonce)
{
	char line[256], low[32], high[32];
	int status = -1;
	pid_t child;

	snprintf(line, sizeof(line), "--command-line=console=ttyS0 panic=-1 quiet kup_ppp.table=0x%" PRIx64 ",0x%" PRIx64 "%s%.20s",
		 address, nonce, word("kuptest.spoil=") ? " kuptest.spoil=" : "", word("kuptest.spoil=") ?: "");
	snprintf(low, sizeof(low), "--mem-min=0x%lx", start);
	snprintf(high, sizeof(high), "--mem-max=0x%lx", end);
	child = fork();
	if (!child) {
		execl("/kexec", "kexec", "-c", "-l", "/kernel", "--initrd=/initrd", low, high, line, "--no-checks", NULL);
		_exit(127);
	}
	require(child > 0 && waitpid(child, &status, 0) == child && !status, "kexec -l");
}

static void first(void)
{
	struct kup_ppp_begin begin = { .number = 1 };
	struct kup_ppp_layout layout;
	unsigned long start, end;
	pid_t one, two = 0;
	FILE *file;
	int device;

	require(word("kuptest.window=") && sscanf(word("kuptest.window="), "%lx-%lx", &start, &end) == 2, "window");
	load_module("", true);
	device = open_module();
	one = start_stopped(fill_first, nothing);
	file = fopen("/second", "r");
	require(file && fscanf(file, "%d", &two) == 1, "/second");
	fclose(file);
	begin.keep_out[0] = (struct kup_ppp_range){ start, end + 1 };
	/* Once to be dropped: the references must be gone again. */
	for (int round = 0; round < 2; round++) {
		require(!ioctl(device, KUP_PPP_BEGIN, &begin), "BEGIN");
		require(ioctl(device, KUP_PPP_BEGIN, &begin) && errno == EBUSY, "a second BEGIN to be refused");
		record(device, one, 0);
		record(device, two, 1);
		require(!ioctl(device, KUP_PPP_LAYOUT, &layout), "LAYOUT");
		if (!round)
			require(!ioctl(device, KUP_PPP_DROP), "DROP");
	}
	check_status(device, "laid out");
	require(syscall(SYS_delete_module, "kup_ppp", O_NONBLOCK) && (errno == EAGAIN || errno == EBUSY || errno == EWOULDBLOCK), "unloading to be refused");
	load(start, end, layout.address, layout.nonce);
	say("jump");
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	fail("kexec");
}

/* ---- second kernel ---- */

static pid_t fill(void)
{
	int ready[2];
	char byte;
	pid_t child;

	require(!pipe(ready), "pipe");
	child = fork();
	if (!child) {
		size_t pages = 0;

		for (long kb; (kb = meminfo_kb("/proc/meminfo", "MemAvailable: %ld")) > SPARE_KB;) {
			size_t size = (size_t)(kb - SPARE_KB / 2) / 2 * 1024 & -PAGE;
			char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (area == MAP_FAILED)
				fail("fill");
			memset(area, 0xa5, size);
			pages += size / PAGE;
		}
		say("filled %zu", pages);
		require(write(ready[1], "", 1) == 1, "pipe");
		for (;;)
			pause();
	}
	close(ready[1]);
	require(read(ready[0], &byte, 1) == 1, "fill");
	return child;
}

static void make_empty(int task)
{
	for (unsigned int i = 0; i < AREAS; i++)
		if (has(task, areas + i)) {
			make(areas + i);
			protect(areas + i, areas[i].protection);
		}
}

static void make_first_task(void)
{
	make_empty(0);
}

static void make_second_task(void)
{
	make_empty(1);
}

static void compare(int task)
{
	uint64_t wrong = 0, pages = 0;

	for (unsigned int i = 0; i < AREAS; i++)
		if (has(task, areas + i)) {
			if (areas[i].protection == PROT_NONE)
				protect(areas + i, PROT_READ);
			wrong += wrong_words(areas + i);
			pages += areas[i].pages;
		}
	say("wrong%d %" PRIu64, task, wrong);
	say("right%d %" PRIu64, task, wrong ? 0 : pages);
}

/* What processes do with memory: nothing of it may tell that it was bound. */
static void use(void)
{
	const struct area *large = areas, *read_only = areas + 2;
	long rss = meminfo_kb("/proc/self/status", "RssAnon: %ld");
	int status = -1;
	pid_t child;
	char *moved;

	compare(0);
	child = fork();
	if (!child) {
		for (uint64_t i = 0; i < large->pages; i++)
			*(uint64_t *)(large->start + i * PAGE) = i;
		_exit(0);
	}
	require(child > 0 && waitpid(child, &status, 0) == child && !status, "a child that writes");
	require(!wrong_words(large), "memory to be unchanged after a child's writes");
	protect(read_only, PROT_READ | PROT_WRITE);
	*(uint64_t *)read_only->start ^= 1;
	*(uint64_t *)read_only->start ^= 1;
	require(!wrong_words(read_only), "memory to be writable after mprotect");
	moved = mremap((void *)(large->start + 1000 * PAGE), 1000 * PAGE, 2000 * PAGE, MREMAP_MAYMOVE);
	require(moved != MAP_FAILED, "mremap");
	for (uint64_t at = 0; at < 2000 * PAGE; at += 8) {
		errno = 0;
		require(*(uint64_t *)(moved + at) == (at < 1000 * PAGE ? pattern(large->start + 1000 * PAGE + at) : 0), "moved memory");
	}
	require(!madvise((void *)large->start, 500 * PAGE, MADV_DONTNEED) && !*(uint64_t *)large->start, "zeros after MADV_DONTNEED");
	/* Without swap it can free nothing of ours, and must not. */
	madvise((void *)areas[4].start, areas[4].pages * PAGE, MADV_PAGEOUT);
	require(!wrong_words(areas + 4), "memory to be unchanged after MADV_PAGEOUT");
	for (unsigned int i = 0; i < AREAS; i++)
		require(!munmap((void *)areas[i].start, areas[i].pages * PAGE), "munmap");
	require(!munmap(moved, 2000 * PAGE), "munmap");
	say("rss_kb %ld", rss);
	say("rss_after_kb %ld", meminfo_kb("/proc/self/status", "RssAnon: %ld"));
}

static void use_second(void)
{
	compare(1);
}

struct part {
	int device;
	struct kup_ppp_bind bind;
	int error;
};

static void *bind_part(void *argument)
{
	struct part *part = argument;

	part->error = ioctl(part->device, KUP_PPP_BIND, &part->bind) ? errno : 0;
	return NULL;
}

static void bind_task(int device, pid_t pid, int task)
{
	struct part parts[2];
	pthread_t threads[2];
	uint64_t pages = 0, copied = 0;

	for (unsigned int i = 0; i < 2; i++) {
		parts[i] = (struct part){ device, { .pid = pid, .task = task, .part = i, .parts = 2 }, 0 };
		require(!pthread_create(&threads[i], NULL, bind_part, &parts[i]), "thread");
	}
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		if (parts[i].error)
			say("failed BIND of task %d: %s at %llx", task, strerror(parts[i].error), parts[i].bind.failed_at);
		pages += parts[i].bind.pages;
		copied += parts[i].bind.copied;
	}
	say("bound%d %" PRIu64, task, pages);
	say("copied%d %" PRIu64, task, copied);
}

static void finish(pid_t pid, const char *what)
{
	int status;

	require(!kill(pid, SIGCONT), what);
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), what);
}

static void bind_and_use(const char *table)
{
	struct kup_ppp_release release = {};
	struct kup_ppp_bind again = { .parts = 1 };
	long before = meminfo_kb("/proc/meminfo", "MemTotal: %ld");
	pid_t one, two, filler = fill();
	int device;

	load_module(table, true);
	device = open_module();
	check_status(device, "attached");
	one = start_stopped(make_first_task, use);
	two = start_stopped(make_second_task, use_second);
	require(ioctl(device, KUP_PPP_RELEASE, &release) && errno == EBUSY, "RELEASE to be refused before BIND");
	bind_task(device, one, 0);
	bind_task(device, two, 1);
	again.pid = one;
	require(ioctl(device, KUP_PPP_BIND, &again) && errno == EEXIST, "a second BIND to be refused");
	require(syscall(SYS_delete_module, "kup_ppp", O_NONBLOCK), "unloading to be refused");
	check_status(device, "bound");
	require(!ioctl(device, KUP_PPP_RELEASE, &release), "RELEASE");
	say("freed %llu", release.freed);
	kill(filler, SIGKILL);
	waitpid(filler, NULL, 0);
	finish(two, "the second task");
	finish(one, "the first task");
	close(device);
	require(!syscall(SYS_delete_module, "kup_ppp", O_NONBLOCK), "unloading");
	say("gained_kb %ld", meminfo_kb("/proc/meminfo", "MemTotal: %ld") - before);
	/* Once more all of it, with what was bound and given back. */
	filler = fill();
	kill(filler, SIGKILL);
	waitpid(filler, NULL, 0);
}

static void second(void)
{
	char table[128] = "table=";
	uint64_t address, nonce;

	require(sscanf(word("kup_ppp.table="), "0x%" SCNx64 ",0x%" SCNx64, &address, &nonce) == 2, "table");
	if (word("kuptest.spoil=nonce"))
		nonce++;
	if (word("kuptest.spoil=address"))
		address = 0x1000000;
	snprintf(table, sizeof(table), "table=0x%" PRIx64 ",0x%" PRIx64, address, nonce);
	if (word("kuptest.spoil="))
		load_module(table, false);
	else
		bind_and_use(table);
}

static void print_log(void)
{
	static char log[1 << 20];
	int size = klogctl(3, log, sizeof(log) - 1);
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); size > 0 && line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, "kup_ppp: "))
			say("log %s", strstr(line, "kup_ppp: ") + 9);
		else if (strstr(line, "WARNING:") || strstr(line, "BUG") || strstr(line, "Call Trace") || strstr(line, "Bad page") || strstr(line, "Bad rss"))
			say("warning %s", line);
}

int main(void)
{
	ssize_t size;
	int file;

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
	command_line[strcspn(command_line, "\n")] = 0;
	/* The second kernel has no third one to load. */
	if (access("/kernel", F_OK) == 0) {
		first();
	} else {
		say("release -");
		second();
		print_log();
		say("end");
	}
	power_off();
}
