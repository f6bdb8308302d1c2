/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/scratch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "common/base.h"

int scratch_begin(struct injection *injection, int64_t *address)
{
	const uint64_t arguments[6] = { 0, SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 };

	return inject_call(injection, SYS_mmap, arguments, address);
}

static struct iovec place_of(int64_t address, size_t size)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)address, .iov_len = size }; /* NOLINT */
}

int scratch_write(const struct injection *injection, int64_t address, const void *bytes, size_t size)
{
	struct iovec from = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = size }, into = place_of(address, size);

	return process_vm_writev(injection->thread, &from, 1, &into, 1, 0) == (ssize_t)size ? 0 : -1;
}

int scratch_read(const struct injection *injection, int64_t address, void *bytes, size_t size)
{
	struct iovec into = { .iov_base = bytes, .iov_len = size }, from = place_of(address, size);

	return process_vm_readv(injection->thread, &into, 1, &from, 1, 0) == (ssize_t)size ? 0 : -1;
}

int scratch_end(struct injection *injection, int64_t address)
{
	int64_t done = 0;

	if (inject_call(injection, SYS_munmap, (const uint64_t[6]){ (uint64_t)address, SCRATCH_SIZE }, &done))
		return -1;
	return done ? fail("Thread %d cannot give back a page: %s.", injection->thread, strerror((int)-done)) : 0;
}
