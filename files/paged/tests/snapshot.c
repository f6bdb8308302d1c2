/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *put_field(uint8_t *at, unsigned int number, uint64_t value)
{
	return put_varint(put_varint(at, number << 3), value);
}

void write_mm(const char *directory, int pid, const struct area *areas, size_t count)
{
	static uint8_t image[65536];
	const uint32_t magics[] = { 0x54564319u, 0x57492820u };
	uint8_t *message = image + 12, *end = message;
	char path[512];
	uint32_t size;
	int fd;

	for (unsigned int i = 1; i <= 12; i++)
		end = put_field(end, i, 0);
	for (size_t i = 0; i < count; i++) {
		uint8_t area[128], *at = area;

		at = put_field(at, 1, areas[i].start);
		at = put_field(at, 2, areas[i].start + areas[i].pages * 4096);
		at = put_field(at, 3, 0);
		at = put_field(at, 4, 0);
		at = put_field(at, 5, PROT_READ | PROT_WRITE);
		at = put_field(at, 6, MAP_PRIVATE | MAP_ANONYMOUS | areas[i].flags);
		at = put_field(at, 7, 1 | 1 << 9 | areas[i].status);
		at = put_field(at, 8, 1);
		end = put_varint(end, 14 << 3 | 2);
		end = put_varint(end, (uint64_t)(at - area));
		memcpy(end, area, (size_t)(at - area));
		end += at - area;
	}
	size = (uint32_t)(end - message);
	memcpy(image, magics, 8);
	memcpy(image + 8, &size, 4);
	snprintf(path, sizeof(path), "%s/mm-%d.img", directory, pid);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, image, (size_t)(end - image)) == end - image);
	close(fd);
}

int start_store(const char *paged, pid_t *store, const char *const *arguments)
{
	const char *argv[32] = { paged, "store", "--socket-fd" };
	char number[16];
	size_t count = 4;
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	snprintf(number, sizeof(number), "%d", ends[1]);
	argv[3] = number;
	while (*arguments)
		argv[count++] = *arguments++;
	fflush(NULL);
	*store = fork();
	if (!*store) {
		close(ends[0]);
		execv(paged, (char **)argv);
		_exit(127);
	}
	close(ends[1]);
	return ends[0];
}

void send_bytes(int socket, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);

		/* The receiver may have refused already: the test looks at its exit code. */
		if (sent <= 0)
			return;
		at += sent;
		size -= (size_t)sent;
	}
}

void send_request(int socket, int form, uint32_t command, uint64_t pages, uint64_t address, uint64_t object)
{
	uint32_t words[2] = { command, form == 24 ? (uint32_t)pages : 0xdeadbeef };

	send_bytes(socket, words, 8);
	if (form == 32)
		send_bytes(socket, &pages, 8);
	send_bytes(socket, &address, 8);
	send_bytes(socket, &object, 8);
}

int receive_bytes(int socket, void *bytes, size_t size)
{
	return recv(socket, bytes, size, MSG_WAITALL) == (ssize_t)size ? 0 : -1;
}

int exit_code(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		CHECK(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
