/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bad input and broken disks: what `paged` must refuse, and that nobody ever reads zeros because of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/journal.h"
#include "snapshot.h"

#define PAGE 4096u
/* serve/journal.c */
#define JOURNAL_MAGIC 0x32306c6e6a676470u
#define PAGES 64u
#define BASE ((uint64_t)0x10000000000)
#define ADD(flags) ((uint32_t)(flags) << 16 | 6)
enum { PARENT = 1, LAZY = 2, PRESENT = 4 };

static const char *paged;
static char directory[64] = "/dev/shm/paged-refusal.XXXXXX";
static char images[128], store[128], small[128], other[128], socket_path[128], journal[128];
static uint64_t object;
/* Of the next `paged serve`: --after, or NULL. */
static const char *after;

static void fill(uint64_t *page, uint64_t address)
{
	for (uint64_t i = 0; i < PAGE / 8; i++)
		page[i] = (address + i) * 0x9e3779b97f4a7c15u;
}

static void send_page(int socket_fd, int form, uint32_t flags, uint64_t address)
{
	uint64_t page[PAGE / 8];

	fill(page, address);
	send_request(socket_fd, form, ADD(flags), 1, address, object);
	send_bytes(socket_fd, page, PAGE);
}

static int open_store(pid_t *pid, const char *where, const char *first, const char *last)
{
	const char *arguments[] = { "--store", where, first, last, last ? "--images-dir" : NULL, images, NULL };

	return start_store(paged, pid, arguments);
}

static int open_object(pid_t *pid, const char *where, int form)
{
	int socket_fd = open_store(pid, where, "--first", NULL);
	char has_parent = 1;

	send_request(socket_fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(socket_fd, &has_parent, 1) && !has_parent);
	return socket_fd;
}

static int finish(int socket_fd, int form, pid_t pid)
{
	int32_t status = -1;
	int code;

	send_request(socket_fd, form, 0x1024, 0, 0, 0);
	if (receive_bytes(socket_fd, &status, 4))
		status = -1;
	code = exit_code(pid);
	close(socket_fd);
	CHECK(!status == !code);
	return code;
}

static void test_store(int form)
{
	uint64_t page[PAGE / 8] = { 0 };
	pid_t pid;
	int fd;

	/* In the parent, says the sender, but no round has sent it. */
	fd = open_object(&pid, store, form);
	send_request(fd, form, ADD(PARENT), 1, BASE, object);
	CHECK(finish(fd, form, pid) == 1);
	/* That round did not end. */
	fd = open_store(&pid, store, NULL, NULL);
	CHECK(finish(fd, form, pid) == 1);

	fd = open_object(&pid, store, form);
	send_request(fd, form, ADD(PRESENT), 1, BASE, object + 256);
	CHECK(finish(fd, form, pid) == 1);

	fd = open_object(&pid, store, form);
	send_request(fd, form, 0x77, 1, BASE, object);
	CHECK(finish(fd, form, pid) == 1);

	fd = open_object(&pid, store, form);
	send_request(fd, form, ADD(PRESENT), 1, ((uint64_t)1 << 56), object);
	CHECK(finish(fd, form, pid) == 1);

	fd = open_object(&pid, store, form);
	send_page(fd, form, PRESENT, BASE);
	send_page(fd, form, PRESENT, BASE);
	CHECK(finish(fd, form, pid) == 1);

	/* Ends in a request, in the content, and without a closing request. */
	fd = open_object(&pid, store, form);
	send_bytes(fd, "\6\0\4\0", 4);
	shutdown(fd, SHUT_WR);
	CHECK(exit_code(pid) == 1 && !close(fd));
	fd = open_object(&pid, store, form);
	send_request(fd, form, ADD(PRESENT), 2, BASE, object);
	send_bytes(fd, page, PAGE);
	shutdown(fd, SHUT_WR);
	CHECK(exit_code(pid) == 1 && !close(fd));
	fd = open_object(&pid, store, form);
	shutdown(fd, SHUT_WR);
	CHECK(exit_code(pid) == 1 && !close(fd));

	fd = open_store(&pid, store, "--first", NULL);
	send_bytes(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36);
	CHECK(exit_code(pid) == 1 && !close(fd));

	fd = open_object(&pid, small, form);
	for (uint64_t i = 0; i < 2048; i++)
		send_page(fd, form, PRESENT, BASE + i * PAGE);
	CHECK(finish(fd, form, pid) == 1);

	/* Nothing at all is a round too. */
	fd = open_store(&pid, store, "--first", NULL);
	CHECK(finish(fd, form, pid) == 0);
}

static void test_places(void)
{
	char number[16];
	int ends[2];
	pid_t pid;
	int fd;

	CHECK(!chmod(store, 0755));
	fd = open_store(&pid, store, "--first", NULL);
	CHECK(exit_code(pid) == 1 && !close(fd) && !chmod(store, 0700));

	/* Another user's socket. */
	CHECK(!seteuid(65534) && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends) && !seteuid(0));
	snprintf(number, sizeof(number), "%d", ends[1]);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execl(paged, paged, "store", "--store", store, "--socket-fd", number, NULL);
		_exit(127);
	}
	CHECK(exit_code(pid) == 1 && !close(ends[0]) && !close(ends[1]));
}

/* Dead pages are forgotten, and a task that is not mentioned any more is too. */
static void test_dead_pages(void)
{
	char path[192];
	pid_t pid;
	int fd = open_object(&pid, store, 32);

	for (uint64_t i = 0; i < 4; i++)
		send_page(fd, 32, PRESENT, BASE + i * PAGE);
	CHECK(!finish(fd, 32, pid));
	for (int round = 0; round < 2; round++) {
		char has_parent = 0;

		fd = open_store(&pid, store, NULL, NULL);
		send_request(fd, 32, 4, 0, 0, object);
		CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent);
		/* The second time page 3 is claimed, which the first time was not mentioned. */
		send_request(fd, 32, ADD(PARENT), round ? 4 : 2, BASE, object);
		CHECK(finish(fd, 32, pid) == round);
	}
	fd = open_object(&pid, store, 32);
	send_page(fd, 32, PRESENT, BASE);
	CHECK(!finish(fd, 32, pid));
	fd = open_store(&pid, store, NULL, NULL);
	CHECK(!finish(fd, 32, pid));
	snprintf(path, sizeof(path), "%s/task-%d.0000.pages", store, (int)(object >> 8));
	CHECK(access(path, F_OK));
}

/* More than the writer takes at a time, past the page cache, and over what an earlier round has left in it. */
static void test_large_run(void)
{
	enum { COUNT = 1200, SMALL = 3 };
	char place[] = "/var/tmp/paged-refusal.XXXXXX", path[96];
	uint64_t page[PAGE / 8], kept[PAGE / 8];
	char has_parent = 0;
	pid_t pid;
	int fd;

	CHECK(mkdtemp(place));
	fd = open_object(&pid, place, 24);
	memset(page, 1, PAGE);
	send_request(fd, 24, ADD(PRESENT | LAZY), SMALL, BASE, object);
	for (uint64_t i = 0; i < SMALL; i++)
		send_bytes(fd, page, PAGE);
	CHECK(!finish(fd, 24, pid));

	fd = open_store(&pid, place, NULL, NULL);
	send_request(fd, 24, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent);
	send_request(fd, 24, ADD(PRESENT | LAZY), COUNT, BASE, object);
	for (uint64_t i = 0; i < COUNT; i++) {
		fill(page, BASE + i * PAGE);
		send_bytes(fd, page, PAGE);
	}
	CHECK(!finish(fd, 24, pid));

	snprintf(path, sizeof(path), "%s/task-%d.0000.pages", place, (int)(object >> 8));
	fd = open(path, O_RDONLY);
	for (uint64_t i = 0; i < COUNT; i++) {
		fill(page, BASE + i * PAGE);
		CHECK(pread(fd, kept, PAGE, (off_t)(BASE + i * PAGE)) == PAGE && !memcmp(kept, page, PAGE));
	}
	close(fd);
	/* Nothing is mentioned: its files go. */
	fd = open_store(&pid, place, NULL, NULL);
	CHECK(!finish(fd, 24, pid) && access(path, F_OK) && !rmdir(place));
}

/* ---- serve ---- */

static pid_t start_serve(const char *store_directory)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		execl(paged, paged, "serve", "--store", store_directory, "--images-dir", images, "--socket", socket_path,
		      "--journal", journal, after ? "--after" : NULL, after, NULL);
		_exit(127);
	}
	return pid;
}

static int connect_serve(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	for (int i = 0; connect(fd, (struct sockaddr *)&address, sizeof(address)); i++) {
		CHECK(i < 2000);
		usleep(2000);
	}
	return fd;
}

static void send_descriptor(int socket_fd, int descriptor)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = (struct cmsghdr *)control;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
	CHECK(sendmsg(socket_fd, &message, 0) == 1);
}

static void spoil(uint64_t address)
{
	char path[192];
	int fd;

	snprintf(path, sizeof(path), "%s/task-%d.0000.pages", store, (int)(object >> 8));
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && pwrite(fd, "x", 1, (off_t)(address + 1234)) == 1);
	close(fd);
}

/* A complete snapshot of this process: even pages in an early round, odd ones in the last. */
static void make_snapshot(int locked)
{
	const struct area area = { .start = BASE, .pages = PAGES, .flags = locked ? MAP_LOCKED : 0 };
	char has_parent;
	pid_t pid;
	int fd = open_object(&pid, store, 24);

	for (uint64_t i = 0; i < PAGES; i += 2)
		send_page(fd, 24, PRESENT | LAZY, BASE + i * PAGE);
	CHECK(!finish(fd, 24, pid));
	write_mm(images, (int)(object >> 8), &area, 1);
	fd = open_store(&pid, store, "--last", "--last");
	send_request(fd, 24, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent);
	for (uint64_t i = 0; i < PAGES; i++) {
		if (i % 2)
			send_page(fd, 24, PRESENT | LAZY, BASE + i * PAGE);
		else
			send_request(fd, 24, ADD(PARENT), 1, BASE + i * PAGE, object);
	}
	CHECK(!finish(fd, 24, pid));
}

static void test_locked(void)
{
	struct stat status;
	char path[192];

	/* Locked since the early round, so nobody would fetch it: restored at once. */
	make_snapshot(1);
	snprintf(path, sizeof(path), "%s/pages-65536.img", images);
	CHECK(!stat(path, &status) && status.st_size == PAGES * PAGE);
	make_snapshot(0);
	CHECK(!stat(path, &status) && status.st_size == 0);
}

/* One run over areas of both kinds, of which CRIU says the contrary each time: the area decides. */
static void test_borders(void)
{
	const struct area areas[] = { { BASE, 8, 0, 0 }, { BASE + 8 * PAGE, 8, MAP_LOCKED, 0 }, { BASE + 24 * PAGE, 8, 0, 0 } };
	static uint64_t pages[32][PAGE / 8], read_back[16][PAGE / 8];
	char path[192];
	pid_t pid;
	int fd;

	for (uint64_t i = 0; i < 32; i++)
		fill(pages[i], BASE + i * PAGE);
	for (int flags = PRESENT; flags <= (PRESENT | LAZY); flags += LAZY) {
		const char *arguments[] = { "--store", store, "--first", "--last", "--images-dir", images, NULL };
		char has_parent;

		write_mm(images, (int)(object >> 8), areas, 3);
		fd = start_store(paged, &pid, arguments);
		send_request(fd, 24, 4, 0, 0, object);
		CHECK(!receive_bytes(fd, &has_parent, 1));
		send_request(fd, 24, ADD(flags), 32, BASE, object);
		send_bytes(fd, pages, sizeof(pages));
		CHECK(!finish(fd, 24, pid));
		snprintf(path, sizeof(path), "%s/pages-65536.img", images);
		fd = open(path, O_RDONLY);
		CHECK(read(fd, read_back, sizeof(read_back)) == sizeof(read_back) && !read(fd, &has_parent, 1));
		CHECK(!memcmp(read_back, pages[8], sizeof(read_back)));
		close(fd);
	}
}

/* A page that restore would read by itself was changed on the disk since an earlier round. */
static void test_spoilt_eager_page(void)
{
	const struct area area = { .start = BASE, .pages = PAGES, .flags = MAP_LOCKED };
	char has_parent;
	pid_t pid;
	int fd;

	make_snapshot(1);
	fd = open_object(&pid, store, 24);
	send_page(fd, 24, PRESENT, BASE);
	CHECK(!finish(fd, 24, pid));
	spoil(BASE);
	write_mm(images, (int)(object >> 8), &area, 1);
	fd = open_store(&pid, store, "--last", "--last");
	send_request(fd, 24, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent);
	send_request(fd, 24, ADD(PARENT), 1, BASE, object);
	CHECK(finish(fd, 24, pid) == 1);
	make_snapshot(0);
}

static void test_connections(void)
{
	uint32_t finished = 0x52535446;
	int32_t hello;
	char path[192];
	pid_t first, second;
	int fd;

	/* Not complete, not the same snapshot, in use. */
	CHECK(exit_code(start_serve(other)) == 4);
	snprintf(path, sizeof(path), "%s/unfinished", store);
	fd = creat(path, 0600);
	CHECK(fd >= 0 && !close(fd));
	CHECK(exit_code(start_serve(store)) == 4 && !unlink(path));
	first = start_serve(store);
	fd = connect_serve();
	second = start_serve(store);
	CHECK(exit_code(second) == 4);
	/* CRIU fails before the end. */
	close(fd);
	CHECK(exit_code(first) == 4);
	/* A descriptor of another kind, for a task without images and for one that has them. */
	for (int i = 0; i < 2; i++) {
		first = start_serve(store);
		fd = connect_serve();
		hello = i ? getpid() : 1;
		send_bytes(fd, &hello, 4);
		send_descriptor(fd, fd);
		send_bytes(fd, &finished, 4);
		CHECK(exit_code(first) == 4 && !close(fd));
	}
	/* A tree without lazy tasks. */
	first = start_serve(store);
	fd = connect_serve();
	send_bytes(fd, &finished, 4);
	CHECK(exit_code(first) == 0 && !close(fd));
}

/* What a tree without lazy tasks does with a daemon; the daemon's exit code. */
static int finish_restore(pid_t serve)
{
	uint32_t finished = 0x52535446;
	int fd = connect_serve(), code;

	send_bytes(fd, &finished, 4);
	code = exit_code(serve);
	close(fd);
	return code;
}

/* The images name another snapshot than the store; and once a new round has begun, the store has none. */
static void test_snapshot_names(void)
{
	char path[192], in_store[192], kept[33];
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/paged-snapshot", images);
	snprintf(in_store, sizeof(in_store), "%s/paged-snapshot", store);
	fd = open(path, O_RDWR);
	CHECK(read(fd, kept, sizeof(kept)) == sizeof(kept));
	CHECK(pwrite(fd, kept[0] == '0' ? "1" : "0", 1, 0) == 1);
	CHECK(exit_code(start_serve(store)) == 4);
	CHECK(pwrite(fd, kept, 1, 0) == 1 && !close(fd));
	CHECK(finish_restore(start_serve(store)) == 0);

	fd = open_store(&pid, store, NULL, NULL);
	CHECK(finish(fd, 24, pid) == 0 && access(in_store, F_OK));
	CHECK(exit_code(start_serve(store)) == 4);
	make_snapshot(0);
}

/* Two rounds at a time. */
static void test_two_stores(void)
{
	pid_t first, second;
	int fd = open_object(&first, store, 24), other_fd;

	other_fd = open_store(&second, store, "--first", NULL);
	CHECK(exit_code(second) == 1 && !close(other_fd));
	CHECK(finish(fd, 24, first) == 0);
}

/* Another user's connection, even where the file system would let it: refused, and root's comes next. */
static void test_other_user(void)
{
	pid_t serve = start_serve(store);
	int fd;

	while (access(socket_path, F_OK))
		usleep(2000);
	CHECK(!chmod(directory, 0711));
	usleep(50000);
	CHECK(!chmod(socket_path, 0666) && !seteuid(65534));
	fd = connect_serve();
	CHECK(!seteuid(0) && !chmod(directory, 0700));
	CHECK(finish_restore(serve) == 0 && !close(fd));
}

/* Field 22 of /proc/PID/stat; the name in it has no blanks. */
static uint64_t process_start_time(pid_t pid)
{
	char path[64];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			     &value) == 1);
	fclose(file);
	return value;
}

/* A journal as a predecessor leaves it, with one task; its descriptor is not there. `flaw` chooses what is wrong with it. */
enum flaw { NO_FLAW, OTHER_SNAPSHOT, OTHER_START_TIME, TOO_MANY_BITS, ROOT_BEHIND, NUMBER_BEHIND, CUT_OFF };

static void write_journal(pid_t application, enum flaw flaw)
{
	static uint8_t bytes[sizeof(struct journal_header) + sizeof(struct saved_task) + 72 + 64 * sizeof(struct slot)];
	struct journal_header header = { .magic = JOURNAL_MAGIC,
					 .restored = 1,
					 .task_count = 1,
					 .saved_count = 1,
					 .saved_size = sizeof(struct saved_task),
					 .slot_count = 64 };
	struct saved_task task = { .pid = application,
				   .image = object >> 8,
				   .start_time = process_start_time(application) + (flaw == OTHER_START_TIME),
				   .number = flaw == NUMBER_BEHIND,
				   .root = flaw == ROOT_BEHIND,
				   .bits = flaw == TOO_MANY_BITS ? PAGES + 1 : PAGES,
				   .region_count = flaw == CUT_OFF };
	char path[192];
	int fd;

	snprintf(path, sizeof(path), "%s/paged-snapshot", images);
	fd = open(path, O_RDONLY);
	CHECK(read(fd, header.snapshot, SNAPSHOT_SIZE) == SNAPSHOT_SIZE && !close(fd));
	header.snapshot[0] ^= flaw == OTHER_SNAPSHOT;
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &task, sizeof(task));
	fd = open(journal, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(write(fd, bytes, sizeof(bytes)) == sizeof(bytes) && !close(fd));
}

/*
 * Of the tasks in the journal, the descriptors are gone: their processes would read zeros, and are killed. A journal that is of another
 * snapshot, of processes that have ended, or damaged, kills nobody: the daemon begins anew.
 */
static void test_journals(void)
{
	for (enum flaw flaw = NO_FLAW; flaw <= CUT_OFF; flaw++) {
		pid_t application = fork();
		int code;

		CHECK(application >= 0);
		if (!application) {
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
			pause();
			_exit(0);
		}
		write_journal(application, flaw);
		code = flaw == NO_FLAW ? exit_code(start_serve(store)) : finish_restore(start_serve(store));
		CHECK(code == (flaw == NO_FLAW ? 3 : 0));
		CHECK(flaw == NO_FLAW || !kill(application, SIGTERM));
		CHECK(exit_code(application) == 128 + (flaw == NO_FLAW ? SIGKILL : SIGTERM));
	}
}

static sigjmp_buf escape;

static void on_bus_error(int number)
{
	siglongjmp(escape, number);
}

/* How many descriptors the process waits for. */
static int watched_by(pid_t pid)
{
	char path[64], line[256];
	int count = 0;

	for (int fd = 3; fd < 32; fd++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			count += !strncmp(line, "tfd:", 4);
		if (file)
			fclose(file);
	}
	return count;
}

/* Its socket, and the connection that it has accepted. */
static void stop_when_connected(pid_t serve)
{
	for (int i = 0; watched_by(serve) < 2; i++) {
		CHECK(i < 2000);
		usleep(2000);
	}
	CHECK(!kill(serve, SIGSTOP));
}

/*
 * The area of the snapshot, empty, in the hands of a daemon that was told of it, by somebody else who has ended before the daemon
 * comes to read it if `late`. Returns the daemon's pid, and its socket.
 */
static pid_t serve_area(int *socket_fd, bool late)
{
	struct uffdio_register area = { .range = { .start = BASE, .len = PAGES * PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	uint32_t finished = 0x52535446;
	int32_t hello = getpid();
	pid_t pid, criu = 0;

	CHECK(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api));
	CHECK(mmap((void *)BASE, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
	      (void *)BASE);
	CHECK(!ioctl(uffd, UFFDIO_REGISTER, &area));
	pid = start_serve(store);
	if (!late || !(criu = fork())) {
		*socket_fd = connect_serve();
		if (late)
			stop_when_connected(pid);
		send_bytes(*socket_fd, &hello, 4);
		send_descriptor(*socket_fd, uffd);
		send_bytes(*socket_fd, &finished, 4);
		if (late)
			_exit(0);
	}
	close(uffd);
	CHECK(!late || (criu > 0 && !exit_code(criu) && !kill(pid, SIGCONT)));
	return pid;
}

/* Until the file of --after is there, only pages that are asked for come. */
static void test_after(void)
{
	char path[128];
	uint64_t page[PAGE / 8];
	pid_t pid;
	int fd, status;

	snprintf(path, sizeof(path), "%s/rest", directory);
	after = path;
	pid = serve_area(&fd, false);
	after = NULL;
	fill(page, BASE + 9 * PAGE);
	CHECK(!memcmp((void *)(BASE + 9 * PAGE), page, PAGE));
	usleep(300000);
	CHECK(!waitpid(pid, &status, WNOHANG));
	CHECK(close(creat(path, 0600)) == 0);
	CHECK(exit_code(pid) == 0 && !close(fd) && !unlink(path));
	for (uint64_t i = 0; i < PAGES; i++) {
		fill(page, BASE + i * PAGE);
		CHECK(!memcmp((void *)(BASE + i * PAGE), page, PAGE));
	}
	CHECK(!munmap((void *)BASE, PAGES * PAGE));
}

/* One spoilt page: who touches it gets SIGBUS, all others are right, and the end is not called a success. */
static void test_spoilt_page(void)
{
	uint64_t page[PAGE / 8];
	char path[192];
	pid_t pid;
	int fd;

	spoil(BASE + 7 * PAGE);
	pid = serve_area(&fd, false);
	CHECK(exit_code(pid) == 3 && !close(fd));
	signal(SIGBUS, on_bus_error);
	for (uint64_t i = 0; i < PAGES; i++) {
		int caught = sigsetjmp(escape, 1);

		fill(page, BASE + i * PAGE);
		if (!caught)
			CHECK(!memcmp((void *)(BASE + i * PAGE), page, PAGE) && i != 7);
		else
			CHECK(caught == SIGBUS && i == 7);
	}
	CHECK(!munmap((void *)BASE, PAGES * PAGE));
	snprintf(path, sizeof(path), "%s.drained", journal);
	CHECK(access(path, F_OK));
}

/* From here on, for this process and its children, the kernel is one before 6.6, without UFFDIO_POISON. */
static void forget_poison(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, _IOWR(UFFDIO, 0x08, char[32]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(instructions) / sizeof(*instructions), .filter = instructions };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0));
}

/* The daemon that has killed its application ends by itself a moment later: until then the store is its. */
static void await_release(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	CHECK(fd >= 0 && !flock(fd, LOCK_EX));
	close(fd);
}

/* Where the kernel cannot poison a page, the process is killed before it could read zeros; also when CRIU is not there any more. */
static void test_spoilt_page_without_poison(bool late)
{
	uint64_t page[PAGE / 8];
	pid_t application = fork();

	CHECK(application >= 0);
	if (!application) {
		int fd;

		object = (uint64_t)getpid() << 8 | 1;
		make_snapshot(0);
		spoil(BASE + 7 * PAGE);
		signal(SIGBUS, SIG_DFL);
		forget_poison();
		serve_area(&fd, late);
		for (uint64_t i = 0; i < PAGES; i++) {
			fill(page, BASE + i * PAGE);
			CHECK(!memcmp((void *)(BASE + i * PAGE), page, PAGE));
		}
		_exit(0);
	}
	CHECK(exit_code(application) == 128 + SIGKILL);
	await_release(store);
}

/* `paged VERB` on one end of a socket pair, and with nothing on its standard input; returns the other end. */
static int open_server(pid_t *pid, const char *verb, const char *directory_of_images, const char *word)
{
	const char *option = directory_of_images ? "--images-dir" : NULL;
	char number[16];
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	*pid = fork();
	CHECK(*pid >= 0);
	if (!*pid) {
		int nobody = open("/dev/null", O_RDONLY);

		snprintf(number, sizeof(number), "%d", ends[1]);
		if (nobody < 0 || dup2(nobody, 0) || fcntl(ends[1], F_SETFD, 0))
			_exit(99);
		execl(paged, paged, verb, "--socket-fd", number, option, directory_of_images, word, NULL);
		_exit(99);
	}
	close(ends[1]);
	return ends[0];
}

/* Nobody says that the tree stands still. */
static int open_record_with(pid_t *pid, const char *word)
{
	return open_server(pid, "record", images, word);
}

static int open_record(pid_t *pid)
{
	return open_record_with(pid, NULL);
}

/* What `paged record`, with another option, answers to one process of the tree; 0: nothing, it has ended. */
static char answer_to_open(int form, const char *word, uint64_t id)
{
	char has_parent = 0;
	pid_t pid;
	int fd = open_record_with(&pid, word);

	send_request(fd, form, 4, 0, 0, id);
	if (receive_bytes(fd, &has_parent, 1))
		has_parent = 0;
	CHECK(!close(fd) && exit_code(pid) == 1);
	return has_parent;
}

static void test_clear_soft_dirty(int form)
{
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	CHECK(gone > 0 && !exit_code(gone));
	CHECK(answer_to_open(form, "--clear-soft-dirty", object) == 1);
	CHECK(answer_to_open(form, "--clear-soft-dirty", (uint64_t)gone << 8 | 1) == 0);
	/* Without the word nobody looks at it. */
	CHECK(answer_to_open(form, NULL, (uint64_t)gone << 8 | 1) == 1);
}

/* Content of tasks is dropped, that of shared memory is written; without a line on standard input nothing is recorded. */
static void test_record(int form)
{
	const uint64_t shared = 5 << 8 | 2;
	uint64_t page[PAGE / 8], read_back[PAGE / 8];
	char path[256], has_parent = 7;
	int32_t status = -1;
	pid_t pid;
	int fd = open_record(&pid), file;

	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent == 1);
	send_request(fd, form, ADD(PARENT), 5, BASE, object);
	send_page(fd, form, PRESENT | LAZY, BASE + 5 * PAGE);
	send_request(fd, form, 4, 0, 0, shared);
	CHECK(!receive_bytes(fd, &has_parent, 1) && !has_parent);
	send_request(fd, form, ADD(PRESENT), 1, 0, shared);
	fill(page, 1);
	send_bytes(fd, page, PAGE);
	send_request(fd, form, 0x1024, 0, 0, 0);
	CHECK(!receive_bytes(fd, &status, 4) && !status);
	CHECK(exit_code(pid) == 1 && !close(fd));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/pages-%d.img", images, 0x10000 + i);
		file = open(path, O_RDONLY);
		CHECK(file >= 0 && read(file, read_back, PAGE) == i * (int)PAGE && !close(file) && !unlink(path));
	}
	CHECK(!memcmp(page, read_back, PAGE));

	/* Shared memory has no parent here; an object that was never opened; pages twice; an end in the middle of a run. */
	fd = open_record(&pid);
	send_request(fd, form, 4, 0, 0, shared);
	CHECK(!receive_bytes(fd, &has_parent, 1));
	send_request(fd, form, ADD(PARENT), 1, 0, shared);
	CHECK(finish(fd, form, pid) == 1);
	fd = open_record(&pid);
	send_request(fd, form, ADD(PARENT), 1, BASE, object);
	CHECK(exit_code(pid) == 1 && !close(fd));
	fd = open_record(&pid);
	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1));
	send_request(fd, form, ADD(PARENT), 2, BASE, object);
	send_request(fd, form, ADD(PARENT), 1, BASE + PAGE, object);
	CHECK(finish(fd, form, pid) == 1);
	fd = open_record(&pid);
	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1));
	send_request(fd, form, ADD(PRESENT), 3, BASE, object);
	send_bytes(fd, page, PAGE);
	CHECK(!close(fd) && exit_code(pid) == 1);
}

/* Everything counts as unchanged, and what comes nevertheless is dropped. */
static void test_discard(int form)
{
	const uint64_t shared = 5 << 8 | 2;
	char has_parent = 0;
	int32_t status = -1;
	pid_t pid, gone;
	int fd = open_server(&pid, "discard", NULL, NULL);

	send_request(fd, form, 5, 0, 0, object);
	CHECK(!receive_bytes(fd, &status, 4) && status == 1);
	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent == 1);
	send_request(fd, form, ADD(PARENT), 5, BASE, object);
	send_page(fd, form, PRESENT, BASE + 5 * PAGE);
	send_request(fd, form, 4, 0, 0, shared);
	CHECK(!receive_bytes(fd, &has_parent, 1) && has_parent == 1);
	send_page(fd, form, PRESENT, 0);
	CHECK(finish(fd, form, pid) == 0);

	/* A process that is gone; a request that there is not; no closing request. */
	gone = fork();
	if (!gone)
		_exit(0);
	CHECK(gone > 0 && !exit_code(gone));
	fd = open_server(&pid, "discard", NULL, NULL);
	send_request(fd, form, 4, 0, 0, (uint64_t)gone << 8 | 1);
	CHECK(exit_code(pid) == 1 && !close(fd));
	fd = open_server(&pid, "discard", NULL, NULL);
	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1));
	send_request(fd, form, 0x77, 1, BASE, object);
	CHECK(finish(fd, form, pid) == 1);
	fd = open_server(&pid, "discard", NULL, NULL);
	send_request(fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(fd, &has_parent, 1) && !close(fd) && exit_code(pid) == 1);
}

int main(int argc, char **argv)
{
	char command[128];

	CHECK(argc == 2);
	paged = argv[1];
	CHECK(mkdtemp(directory));
	object = (uint64_t)getpid() << 8 | 1;
	snprintf(images, sizeof(images), "%s/images", directory);
	snprintf(store, sizeof(store), "%s/store", directory);
	snprintf(small, sizeof(small), "%s/small", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	snprintf(socket_path, sizeof(socket_path), "%s/lazy-pages.socket", directory);
	snprintf(journal, sizeof(journal), "%s/journal", directory);
	CHECK(!mkdir(images, 0700) && !mkdir(store, 0700) && !mkdir(small, 0700) && !mkdir(other, 0700));
	CHECK(!mount("small", small, "tmpfs", 0, "size=1m,mode=700"));
	test_store(24);
	test_store(32);
	CHECK(!umount(small));
	test_record(24);
	test_record(32);
	test_discard(24);
	test_discard(32);
	test_clear_soft_dirty(24);
	test_clear_soft_dirty(32);
	test_places();
	test_dead_pages();
	test_large_run();
	test_borders();
	test_locked();
	test_spoilt_eager_page();
	test_connections();
	test_two_stores();
	make_snapshot(0);
	test_snapshot_names();
	test_other_user();
	test_journals();
	test_after();
	test_spoilt_page();
	test_spoilt_page_without_poison(false);
	test_spoilt_page_without_poison(true);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 1 : 0;
}
