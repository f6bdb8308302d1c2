/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worker.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "snapshot.h"

#define ROW_PAGES 32u

_Static_assert(AREA_PAGES % ROW_PAGES == 0, "renew() takes whole rows");

uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15u;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

uint64_t next_random(uint64_t *state)
{
	return mix((*state)++);
}

void page_fill(uint64_t *page, uint64_t name)
{
	for (uint64_t i = 0; i < PAGE / 8; i++)
		page[i] = name ? mix(name * 512 + i) : 0;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void note(struct worker *worker, uint64_t first, uint64_t count, const char *what)
{
	uint64_t now = milliseconds();

	for (uint64_t i = first; i < first + count; i++) {
		worker->pages[i].last = what;
		worker->pages[i].last_at = now;
	}
}

static void wrong(const struct worker *worker, uint64_t index, uint64_t word)
{
	const struct page *page = &worker->pages[index];

	fprintf(stderr, "process %d thread %d page %llu at %p word %llu is %llx, expected content %llx, %s %llu ms ago\n", getpid(),
		worker->number, (unsigned long long)index, (void *)page->address, (unsigned long long)word,
		(unsigned long long)page->address[word], (unsigned long long)page->name, page->last ? page->last : "untouched",
		(unsigned long long)(page->last ? milliseconds() - page->last_at : 0));
	_exit(1);
}

static void compare(const struct worker *worker, uint64_t index)
{
	const struct page *page = &worker->pages[index];

	if (!page->mapped)
		return;
	for (uint64_t i = 0; i < PAGE / 8; i++)
		if (page->address[i] != (page->name ? mix(page->name * 512 + i) : 0))
			wrong(worker, index, i);
}

/* A row of mapped pages with addresses in a row, in one area. */
static uint64_t pick_row(struct worker *worker, uint64_t most, uint64_t *count)
{
	uint64_t first = next_random(&worker->random) % AREA_PAGES, wanted = 1 + next_random(&worker->random) % most;

	for (*count = 0; *count < wanted && first + *count < AREA_PAGES; ++*count) {
		const struct page *page = &worker->pages[first + *count];

		if (!page->mapped || page->area != worker->pages[first].area ||
		    page->address != worker->pages[first].address + *count * PAGE / 8)
			break;
	}
	return first;
}

static void give_back(struct worker *worker, uint64_t first, uint64_t count)
{
	CHECK(!madvise(worker->pages[first].address, count * PAGE, MADV_DONTNEED));
	for (uint64_t i = first; i < first + count; i++)
		worker->pages[i].name = 0;
	note(worker, first, count, "given back");
}

static void unmap(struct worker *worker, uint64_t first, uint64_t count)
{
	CHECK(!munmap(worker->pages[first].address, count * PAGE));
	for (uint64_t i = first; i < first + count; i++)
		worker->pages[i].mapped = false;
}

/* To wherever the kernel likes, and sometimes with room behind it that must read as zeros. */
static void move(struct worker *worker, uint64_t first, uint64_t count, bool grow)
{
	uint64_t size = (count + (grow ? 3 : 0)) * PAGE;
	void *hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *to;

	CHECK(hole != MAP_FAILED);
	to = mremap(worker->pages[first].address, count * PAGE, size, MREMAP_MAYMOVE | MREMAP_FIXED, hole);
	/* If it failed, the hole would be gone, and another thread's memory there perhaps. */
	CHECK(to != MAP_FAILED);
	worker->moves++;
	worker->areas++;
	for (uint64_t i = 0; i < count; i++) {
		worker->pages[first + i].address = to + i * PAGE / 8;
		worker->pages[first + i].area = worker->areas;
	}
	for (uint64_t i = count * PAGE / 8; i < size / 8; i++)
		CHECK(!to[i]);
	if (grow)
		CHECK(!munmap((char *)to + count * PAGE, size - count * PAGE));
	note(worker, first, count, grow ? "moved and grown" : "moved");
}

static void write_pages(struct worker *worker, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		worker->pages[i].name = worker->next_name += 3;
		page_fill(worker->pages[i].address, worker->pages[i].name);
	}
	note(worker, first, count, "written");
}

/* New memory in a row for some pages, or there would soon be nothing left that is mapped, and nothing that lies in a row. */
static void renew(struct worker *worker, uint64_t first)
{
	char *to = mmap(NULL, ROW_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(to != MAP_FAILED);
	worker->areas++;
	for (uint64_t i = 0; i < ROW_PAGES; i++) {
		struct page *page = &worker->pages[first + i];

		compare(worker, first + i);
		CHECK(!page->mapped || !munmap(page->address, PAGE));
		page->address = (uint64_t *)(to + i * PAGE);
		page->mapped = true;
		page->area = worker->areas;
	}
	write_pages(worker, first, ROW_PAGES);
	note(worker, first, ROW_PAGES, "new");
}

static void act(struct worker *worker)
{
	uint64_t dice = next_random(&worker->random) % 100, count, first;

	if (dice < 60) {
		first = next_random(&worker->random) % AREA_PAGES;
		if (worker->pages[first].mapped)
			compare(worker, first);
		else
			renew(worker, first - first % ROW_PAGES);
		return;
	}
	first = pick_row(worker, 24, &count);
	if (!count)
		return;
	if (dice < 75)
		write_pages(worker, first, count);
	else if (dice < 84)
		give_back(worker, first, count);
	else if (dice < 86)
		unmap(worker, first, count > 4 ? 4 : count);
	else
		move(worker, first, count, dice > 92);
}

/* The child has this thread's memory as it was, whatever the parent does to its own now. */
static void in_child(struct worker *worker)
{
	for (int i = 0; i < 150; i++)
		act(worker);
	for (uint64_t i = 0; i < AREA_PAGES; i++)
		compare(worker, i);
	_exit(0);
}

static void fork_one(struct worker *worker)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		in_child(worker);
	worker->forks++;
	/* Go on while it looks at its copy. */
	for (int i = 0; i < 60; i++)
		act(worker);
	if (exit_code(child))
		_exit(1);
}

void *worker_run(void *argument)
{
	struct worker *worker = argument;

	while (!*worker->stop) {
		for (int i = 0; i < 40; i++)
			act(worker);
		if (!(worker->alone && *worker->alone) && (!worker->forks || next_random(&worker->random) % 8 == 0))
			fork_one(worker);
		usleep(500);
	}
	for (uint64_t i = 0; i < AREA_PAGES; i++)
		compare(worker, i);
	return NULL;
}
