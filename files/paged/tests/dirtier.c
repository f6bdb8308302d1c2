/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small tree to be dumped and restored: two processes (the second has the first one's memory, copy-on-write) with two
 * threads each that change private memory all the time, and a shared segment that both check.
 *
 *   dirtier STATE [FORK]     writes "ready" to file STATE, then, once STATE.stop is there, "right" or nothing
 *
 * With FORK it is one process that nobody shares private memory with, until there is a file FORK: then it forks like the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "snapshot.h"
#include "worker.h"

#define THREADS 2
#define SHARED_PAGES 600

static struct worker workers[2 * THREADS];
static volatile int stop, alone;
static uint64_t *shared;

static void write_state(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void begin(struct worker *worker, int number)
{
	worker->number = number;
	worker->stop = &stop;
	worker->alone = &alone;
	worker->random = mix((uint64_t)number + 1);
	worker->next_name = (uint64_t)number + 1;
	for (uint64_t i = 0; i < AREA_PAGES; i++) {
		worker->pages[i].address = (uint64_t *)((char *)worker->pages[0].address + i * PAGE);
		worker->pages[i].mapped = true;
		worker->pages[i].name = i % 11 ? mix(i) | 1 : 0;
		if (worker->pages[i].name)
			page_fill(worker->pages[i].address, worker->pages[i].name);
	}
}

/*
 * Sleeps again and again, every other time with a stack pointer at the beginning of a page. Then CRIU takes all of the process's
 * pages for its stack (criu/mem.c, is_stack) and sends none as one that can come on demand.
 */
static void *sleep_aligned(void *unused)
{
	struct timespec time = { .tv_nsec = 50000000 };

	(void)unused;
	while (!stop) {
#ifdef __x86_64__
		long result = SYS_nanosleep;

		__asm__ volatile("mov %%rsp, %%rbx\n and $-4096, %%rsp\n syscall\n mov %%rbx, %%rsp"
				 : "+a"(result)
				 : "D"(&time), "S"(NULL)
				 : "rbx", "rcx", "r11", "memory");
		CHECK(!result || result == -EINTR);
#endif
		nanosleep(&time, NULL);
	}
	return NULL;
}

static void check_shared(void)
{
	for (uint64_t i = 0; i < SHARED_PAGES * PAGE / 8; i++)
		CHECK(shared[i] == (i / 512 % 3 ? mix(i) : 0));
}

static void run(const char *stop_path, const char *fork_path, int first)
{
	pthread_t sleeper;

	CHECK(!pthread_create(&sleeper, NULL, sleep_aligned, NULL));
	for (int i = first; i < first + THREADS; i++)
		CHECK(!pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]));
	while (access(stop_path, F_OK)) {
		alone = fork_path && access(fork_path, F_OK);
		check_shared();
		usleep(20000);
	}
	stop = 1;
	pthread_join(sleeper, NULL);
	for (int i = first; i < first + THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	check_shared();
}

int main(int argc, char **argv)
{
	const char *fork_path = argc > 2 ? argv[2] : NULL;
	char stop_path[512];
	pid_t child = -1;

	CHECK(argc == 2 || argc == 3);
	alone = fork_path != NULL;
	snprintf(stop_path, sizeof(stop_path), "%s.stop", argv[1]);
	shared = mmap(NULL, SHARED_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (uint64_t i = 0; i < SHARED_PAGES * PAGE / 8; i++)
		if (i / 512 % 3)
			shared[i] = mix(i);
	for (int i = 0; i < (fork_path ? THREADS : 2 * THREADS); i++) {
		workers[i].pages[0].address =
			mmap(NULL, AREA_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(workers[i].pages[0].address != MAP_FAILED);
		begin(&workers[i], i);
	}
	if (!fork_path) {
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			run(stop_path, fork_path, THREADS);
			_exit(0);
		}
	}
	write_state(argv[1], "ready");
	run(stop_path, fork_path, 0);
	CHECK(fork_path ? workers[0].forks : exit_code(child) == 0);
	write_state(argv[1], "right");
	return 0;
}
