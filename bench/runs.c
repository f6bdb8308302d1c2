// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * runs RUNS TASKS: what the kernel module does with so many runs of frames, on a memory of its own (tests/kmod/check/linux), in seconds of
 * processor time: the layout of the table in the freeze; the check of it, and where each of TASKS processes begins in the list of owners,
 * in the next boot. Each run has one frame, and they come in no order, as from an allocator after weeks.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "append.h"
#include "session.h"

struct page frames[FRAMES];
char *memory;
static u64 next_free = FRAMES / 4 * 3;

struct page *kup_alloc(struct kup_session *session, unsigned int order)
{
	u64 frame = next_free = ALIGN(next_free, 1ul << order);

	(void)session;
	next_free += 1ul << order;
	return next_free > FRAMES ? NULL : pfn_to_page(frame);
}

void kup_free_rejected(struct kup_session *session)
{
	(void)session;
}

void free_one_page(struct page *page)
{
	(void)page;
}

/* Every second frame, in an order that visits all: the step has no divisor with a power of two. */
static void record(struct kup_session *session, u64 runs, u64 tasks)
{
	u64 size = 1, at = 0, given = 0;

	while (size < runs)
		size *= 2;
	for (u64 task = 0; task < tasks; task++) {
		u64 number = runs * (task + 1) / tasks - runs * task / tasks;

		append(session, task << 32 | number);
		append(session, task);
		for (; number; number--, given++) {
			do
				at = (at + 2654435761u) & (size - 1);
			while (at >= runs);
			append(session, kup_run(KUP_LOWEST + 2 * at, 1));
		}
	}
	session->pages = given;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(int fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "runs: %s\n", what);
	exit(1);
}

int main(int argc, char **argv)
{
	struct kup_session session = { .state = KUP_PPP_RECORDING }, next = { 0 };
	u64 runs = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, tasks = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	double begun, laid_out, checked, found;
	struct kup_place place;
	const char *reason;

	must(runs && tasks && runs < FRAMES / 3, "expected the numbers of runs and of tasks");
	memory = mmap(NULL, FRAMES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(memory != MAP_FAILED, "no address space");
	session.table = page_address(kup_alloc(&session, 0));
	session.table->address = page_to_pfn(virt_to_page(session.table)) << PAGE_SHIFT;
	session.table->nonce = next.nonce = 7;
	next.address = session.table->address;
	record(&session, runs, tasks);
	begun = now();
	must(!kup_layout(&session), "no layout");
	laid_out = now();
	for (u64 i = 0; i < FRAMES; i++)
		frames[i] = (struct page){ .is_reserved = true, .count = 1 };
	session.table->state = KUP_TABLE_RESERVED ^ 7;
	checked = now();
	reason = kup_check(&next);
	must(!reason, reason ? reason : "");
	begun += checked - laid_out;
	laid_out = checked;
	checked = now();
	for (u64 task = 0; task < tasks; task++)
		must(!kup_begin_task(&next, (u32)task, &place), "a task is lost");
	found = now();
	printf("{\"layout\": %.4f, \"check\": %.4f, \"bind\": %.4f}\n", laid_out - begun, checked - laid_out, found - checked);
	return 0;
}
