/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fuzz target: `paged serve` with the input as what comes over CRIU's connection. A byte with bit 7 set sends a
 * descriptor (a userfaultfd, or with bit 0 a socket, or with bit 1 two at once), any other the four bytes after it.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "images/pagemap.h"
#include "images/snapshot_id.h"
#include "serve/serve.h"
#include "snapshot.h"

static char directory[64] = "/dev/shm/paged-fuzz.XXXXXX", images[96], store[96], socket_path[96], journal[96];

struct input {
	const uint8_t *data;
	size_t size;
};

static void prepare(void)
{
	const char *const directories[] = { images, store };
	const struct area area = { .start = 0x10000, .pages = 16 };
	struct runs runs = { 0 };

	CHECK(mkdtemp(directory));
	snprintf(images, sizeof(images), "%s/images", directory);
	snprintf(store, sizeof(store), "%s/store", directory);
	snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
	snprintf(journal, sizeof(journal), "%s/journal", directory);
	runs_add(&runs, 0x10000, 8, 2);
	for (int i = 0; i < 2; i++) {
		int fd;

		CHECK(!mkdir(directories[i], 0700));
		fd = open(directories[i], O_RDONLY | O_DIRECTORY);
		CHECK(!replace_file(fd, SNAPSHOT_FILE, "0123456789abcdef0123456789abcdef\n", SNAPSHOT_SIZE));
		CHECK(!pagemap_write(fd, OBJECT_TASK, FUZZ_TASK, 1, &runs));
		close(fd);
	}
	write_mm(images, FUZZ_TASK, &area, 1);
	runs_free(&runs);
	fuzz_remove_at_exit(directory);
}

static int descriptor(int is_socket)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = is_socket ? socket(AF_UNIX, SOCK_STREAM, 0) : (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (!is_socket)
		(void)ioctl(fd, UFFDIO_API, &api);
	return fd;
}

static void send_descriptors(int socket_fd, uint8_t kind)
{
	int fds[2] = { descriptor(kind & 1), descriptor(kind & 1) }, count = kind & 2 ? 2 : 1;
	char byte = 0, control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))
	};
	struct cmsghdr *header = (struct cmsghdr *)control;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, (size_t)count * sizeof(int));
	(void)sendmsg(socket_fd, &message, MSG_NOSIGNAL);
	close(fds[0]);
	close(fds[1]);
}

static void *talk(void *argument)
{
	const struct input *input = argument;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		usleep(50);
	for (size_t i = 0; i < input->size && i < 400; i++) {
		if (input->data[i] & 0x80) {
			send_descriptors(fd, input->data[i]);
		} else if (i + 4 < input->size) {
			send_bytes(fd, input->data + i + 1, 4);
			i += 4;
		}
	}
	close(fd);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct serve_options options = { .images = images, .store = store, .socket = socket_path, .journal = journal };
	struct input input = { .data = data, .size = size };
	pthread_t thread;

	if (!*images)
		prepare();
	CHECK(!pthread_create(&thread, NULL, talk, &input));
	(void)serve(&options);
	pthread_join(thread, NULL);
	return 0;
}
