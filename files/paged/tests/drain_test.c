/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process with missing memory, as `criu restore --lazy-pages` makes it, whose threads touch, write, fork, move, unmap
 * and give back what is being brought in, and compare every byte; while `paged serve` is killed again and again, half
 * of the times right after the kernel has given it a descriptor that nobody else has. The service manager's store of
 * descriptors is played by this program (sd_notify(3): FDSTORE, FDSTOREREMOVE, BARRIER; sd_listen_fds(3)).
 *
 *   drain_test PAGED [KILLS [SEED [FORKS]]]      FORKS: so many short processes are forked before the background transfer begins
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "snapshot.h"
#include "worker.h"

#define THREADS 4
/* The second one lies behind 2^43: another segment of the flat file. */
static const uint64_t area_starts[THREADS] = { 0x10000000000, 0x90000000000, 0x200000000000, 0x200040000000 };

static char directory[256], images[300], store[300], socket_path[320], journal[320], notify_path[320];
static char after[320];
static uint64_t seed, short_forks;
static volatile int *stop;
static struct worker *workers;

/* ---- the snapshot ---- */

enum in_snapshot { ABSENT, BEFORE, LAST, BOTH };

static enum in_snapshot place(uint64_t page)
{
	uint64_t dice = mix(page / 7 ^ seed) % 10;

	return dice == 0 ? ABSENT : dice < 6 ? BEFORE : dice < 8 ? LAST : BOTH;
}

static uint64_t original(uint64_t address)
{
	return place(address / PAGE) == ABSENT ? 0 : address ^ seed << 48;
}

static void send_round(const char *paged, int pid, int form, bool last)
{
	const char *const early[] = { "--store", store, "--first", NULL };
	const char *const final[] = { "--store", store, "--images-dir", images, "--last", NULL };
	uint64_t object = (uint64_t)pid << 8 | 1, page[PAGE / 8];
	pid_t child;
	int socket_fd = start_store(paged, &child, last ? final : early);
	int32_t status = -1;
	char has_parent;

	send_request(socket_fd, form, 4, 0, 0, object);
	CHECK(!receive_bytes(socket_fd, &has_parent, 1) && has_parent == last);
	for (size_t i = 0; i < THREADS; i++)
		for (uint64_t j = 0; j < AREA_PAGES; j++) {
			uint64_t address = area_starts[i] + j * PAGE;
			enum in_snapshot where = place(address / PAGE);

			if (where == ABSENT || (!last && where == LAST))
				continue;
			if (last && where == BEFORE) {
				send_request(socket_fd, form, 1 << 16 | 6, 1, address, object);
				continue;
			}
			/* An early round sends something else for what the last one sends again. */
			page_fill(page, original(address) + (!last && where == BOTH));
			/* CRIU does not say of every page that it can come on demand; where it registers memory, each has to. */
			send_request(socket_fd, form, (address / PAGE % 3 ? 6 : 4) << 16 | 6, 1, address, object);
			send_bytes(socket_fd, page, PAGE);
		}
	send_request(socket_fd, form, 0x1024, 0, 0, 0);
	CHECK(!receive_bytes(socket_fd, &status, 4) && status == 0);
	CHECK(exit_code(child) == 0);
	close(socket_fd);
}

/* ---- the application ---- */

static int make_userfaultfd(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE |
			    UFFD_FEATURE_EVENT_UNMAP,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	CHECK(fd >= 0 && !ioctl(fd, UFFDIO_API, &api));
	return fd;
}

/* CRIU's side of lazy-pages.socket. */
static void hand_over(int uffd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = (struct cmsghdr *)control;
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pid = getpid();
	uint32_t finished = 0x52535446;
	int32_t zombie = -pid - 1;

	strcpy(address.sun_path, socket_path);
	while (connect(socket_fd, (struct sockaddr *)&address, sizeof(address))) {
		CHECK(errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN);
		usleep(5000);
	}
	send_bytes(socket_fd, &zombie, 4);
	send_bytes(socket_fd, &pid, 4);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &uffd, sizeof(uffd));
	CHECK(sendmsg(socket_fd, &message, 0) == 1);
	usleep(20000);
	for (size_t i = 0; i < THREADS; i++) {
		struct uffdio_register area = { .range = { .start = area_starts[i], .len = AREA_PAGES * PAGE },
						.mode = UFFDIO_REGISTER_MODE_MISSING };

		CHECK(mmap((void *)area_starts[i], area.range.len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) == (void *)area_starts[i]);
		CHECK(!ioctl(uffd, UFFDIO_REGISTER, &area));
	}
	/* From here on the memory is missing, and only serve can bring it. */
	close(uffd);
	/* CRIU ends the tree if this fails. */
	CHECK(send(socket_fd, &finished, 4, MSG_NOSIGNAL) == 4);
	close(socket_fd);
}

/* While all memory is missing, and none comes by itself. */
static void fork_short_ones(void)
{
	for (uint64_t i = 0; i < short_forks; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child)
			_exit(0);
		CHECK(!exit_code(child));
	}
	CHECK(!close(open(after, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
}

static void application(int go)
{
	uint64_t forks = 0, moves = 0;
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	hand_over(make_userfaultfd());
	fork_short_ones();
	for (int i = 0; i < THREADS; i++) {
		struct worker *worker = &workers[i];

		worker->number = i;
		worker->random = mix(seed * 31 + (uint64_t)i);
		worker->next_name = (uint64_t)i + 1;
		worker->stop = stop;
		for (uint64_t j = 0; j < AREA_PAGES; j++) {
			uint64_t address = area_starts[i] + j * PAGE;

			worker->pages[j] =
				(struct page){ .address = (uint64_t *)address, .name = original(address), .mapped = true };
		}
		CHECK(!pthread_create(&worker->thread, NULL, worker_run, worker));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		forks += workers[i].forks;
		moves += workers[i].moves;
	}
	fprintf(stderr, "drain_test: every byte was right, %llu forks, %llu moves\n", (unsigned long long)forks,
		(unsigned long long)moves);
	_exit(forks && moves ? 0 : 1);
}

/* ---- the service manager ---- */

#define STORED_MAX 1024
static struct stored {
	int fd;
	char name[64];
} stored[STORED_MAX];
static size_t stored_count;
static int notify_socket;

static void store_descriptor(int fd, const char *name)
{
	for (size_t i = 0; i < stored_count; i++)
		if (!syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, stored[i].fd, fd)) {
			close(fd);
			return;
		}
	CHECK(stored_count < STORED_MAX);
	stored[stored_count].fd = fd;
	snprintf(stored[stored_count++].name, sizeof(stored->name), "%s", name);
}

static void drop_descriptor(const char *name)
{
	size_t left = 0;

	for (size_t i = 0; i < stored_count; i++) {
		if (strcmp(stored[i].name, name))
			stored[left++] = stored[i];
		else
			close(stored[i].fd);
	}
	stored_count = left;
}

/* One message, if there is one. */
static bool read_notify(void)
{
	char text[1024], control[CMSG_SPACE(sizeof(int))], name[64] = "stored";
	struct iovec data = { .iov_base = text, .iov_len = sizeof(text) - 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t size = recvmsg(notify_socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd = -1;
	char *at;

	if (size < 0)
		return false;
	text[size] = 0;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	at = strstr(text, "FDNAME=");
	if (at)
		sscanf(at, "FDNAME=%63[^\n]", name);
	if (strstr(text, "FDSTOREREMOVE=1"))
		drop_descriptor(name);
	else if (strstr(text, "FDSTORE=1") && fd >= 0) {
		store_descriptor(fd, name);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

static void exec_serve(const char *paged, char *const *environment)
{
	char *const arguments[] = { (char *)paged, "serve",     "--store", store, "--images-dir", images, "--socket",
				    socket_path,   "--journal", journal,   "--after",
				    after,	   NULL };

	execve(paged, arguments, environment);
	_exit(127);
}

/* What has been stored is only read: the disk may be full or read-only by then. */
static void make_read_only(const char *path)
{
	CHECK(!mount(path, path, NULL, MS_BIND, NULL) && !mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
}

static pid_t start_serve(const char *paged)
{
	static char names[STORED_MAX * 16], pid_text[32], count_text[32], notify_text[400];
	char *environment[] = { notify_text, count_text, pid_text, names, "ASAN_OPTIONS=detect_leaks=0", NULL };
	pid_t pid;

	while (read_notify())
		;
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	CHECK(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	make_read_only(images);
	make_read_only(store);
	snprintf(notify_text, sizeof(notify_text), "NOTIFY_SOCKET=%s", notify_path);
	snprintf(count_text, sizeof(count_text), "LISTEN_FDS=%zu", stored_count);
	snprintf(pid_text, sizeof(pid_text), "LISTEN_PID=%d", getpid());
	strcpy(names, "LISTEN_FDNAMES=");
	/* Out of the way first, then to their places. */
	for (size_t i = 0; i < stored_count; i++)
		CHECK((stored[i].fd = fcntl(stored[i].fd, F_DUPFD, 2000)) >= 2000);
	for (size_t i = 0; i < stored_count; i++) {
		dup2(stored[i].fd, 3 + (int)i);
		close(stored[i].fd);
		sprintf(names + strlen(names), "%s%s", i ? ":" : "", stored[i].name);
	}
	exec_serve(paged, environment);
	_exit(127);
}

/* Its guard has become our child. Like the real service manager, this one waits for all processes before it starts a new one. */
static void wait_for_rest(pid_t application_pid)
{
	char path[64];
	FILE *file;
	int children;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	do {
		int pid, status;

		while (read_notify())
			;
		children = 0;
		file = fopen(path, "r");
		CHECK(file);
		while (fscanf(file, "%d", &pid) == 1)
			if (pid != application_pid) {
				children++;
				(void)waitpid(pid, &status, WNOHANG);
			}
		fclose(file);
		usleep(500);
	} while (children);
}

static bool has_exited(pid_t pid, int *code)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

static void nap(uint64_t microseconds)
{
	usleep((useconds_t)microseconds);
}

/* Lets it run for a while. Whether it is still there. */
static bool run_for(pid_t serve, uint64_t microseconds, int *code)
{
	for (uint64_t past = 0; past <= microseconds; past += 500) {
		while (read_notify())
			;
		if (has_exited(serve, code))
			return false;
		nap(microseconds - past < 500 ? microseconds - past : 500);
	}
	return true;
}

/* Whether the tracee has just been given a descriptor: CRIU's connection, a task's or a forked one's userfaultfd. */
static bool has_received(pid_t serve)
{
	struct user_regs_struct registers;
	struct uffd_msg message;
	struct iovec ours = { .iov_base = &message, .iov_len = sizeof(message) }, theirs = { .iov_len = sizeof(message) };

	if (ptrace(PTRACE_GETREGS, serve, NULL, &registers) || (int64_t)registers.rax < 0)
		return false;
	if (registers.orig_rax == SYS_accept4 || (registers.orig_rax == SYS_recvmsg && registers.rax))
		return true;
	if (registers.orig_rax != SYS_read || registers.rax != sizeof(message))
		return false;
	theirs.iov_base = (void *)registers.rsi;
	return process_vm_readv(serve, &ours, 1, &theirs, 1, 0) == sizeof(message) && message.event == UFFD_EVENT_FORK;
}

/* Follows it from system call to system call until it has been given a descriptor, at most a second. Whether it is there. */
static bool run_until_received(pid_t serve, bool *found, int *code)
{
	struct timespec now, end;

	*found = false;
	if (ptrace(PTRACE_SEIZE, serve, NULL, PTRACE_O_TRACESYSGOOD) || ptrace(PTRACE_INTERRUPT, serve, NULL, NULL))
		return run_for(serve, 1000, code);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec++;
	do {
		int status;

		while (read_notify())
			;
		if (waitpid(serve, &status, __WALL | WNOHANG) == serve) {
			if (!WIFSTOPPED(status)) {
				*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
				return false;
			}
			*found = WSTOPSIG(status) == (SIGTRAP | 0x80) && has_received(serve);
			/* A stop of ptrace itself has its event above the signal; only a real signal is passed on. */
			if (!*found)
				ptrace(PTRACE_SYSCALL, serve, NULL,
				       status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status));
		} else {
			nap(20);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!*found && (now.tv_sec < end.tv_sec || now.tv_nsec < end.tv_nsec));
	return true;
}

/* What a process says that was started once more, because the one before it was killed when all was over. */
static int start_once_more(const char *paged)
{
	pid_t serve = start_serve(paged);
	int code = -1;

	if (run_for(serve, 30000000, &code)) {
		kill(serve, SIGKILL);
		(void)exit_code(serve);
	}
	return code;
}

static void make_directories(void)
{
	snprintf(directory, sizeof(directory), "/dev/shm/paged-drain.XXXXXX");
	CHECK(mkdtemp(directory));
	snprintf(images, sizeof(images), "%s/images", directory);
	snprintf(store, sizeof(store), "%s/store", directory);
	snprintf(socket_path, sizeof(socket_path), "%s/lazy-pages.socket", directory);
	snprintf(journal, sizeof(journal), "%s/journal", directory);
	snprintf(after, sizeof(after), "%s/after", directory);
	snprintf(notify_path, sizeof(notify_path), "%s/notify", directory);
	CHECK(!mkdir(images, 0700) && !mkdir(store, 0700));
}

static void open_notify(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	notify_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, notify_path);
	CHECK(notify_socket >= 0 && !bind(notify_socket, (struct sockaddr *)&address, sizeof(address)));
}

static void raise_descriptor_limit(void)
{
	struct rlimit files;

	/* Descriptors are parked at 2000 and above on their way to serve. */
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	CHECK(files.rlim_max > 2000 + STORED_MAX && !setrlimit(RLIMIT_NOFILE, &files));
}

/* A process that waits at `go` until its memory has been dumped. */
static pid_t start_application(int go)
{
	pid_t pid;

	stop = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	workers = calloc(THREADS, sizeof(*workers));
	pid = fork();
	if (!pid)
		application(go);
	return pid;
}

static void dump(const char *paged, pid_t app)
{
	struct area areas[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		areas[i] = (struct area){ .start = area_starts[i], .pages = AREA_PAGES };
	write_mm(images, app, areas, THREADS);
	send_round(paged, app, seed % 2 ? 24 : 32, false);
	send_round(paged, app, seed % 2 ? 24 : 32, true);
}

/* All short-lived children have been there: its successor finds them all in the journal. */
static bool run_until_forked(pid_t serve, int *code)
{
	while (access(after, F_OK))
		if (!run_for(serve, 2000, code))
			return false;
	return true;
}

/* Lets serve run, and kills it so many times on the way. The process that has ended by itself; *code: its exit code. */
static pid_t serve_with_kills(const char *paged, pid_t app, pid_t serve, int kills, int *code)
{
	uint64_t random = mix(seed);
	int killed = 0, at_receipt = 0;

	for (;;) {
		bool found = false, there;

		if (killed >= kills)
			there = run_for(serve, 30000000, code);
		/* The first two times: after accept, after the task's descriptor. */
		else if (killed < 2 || killed % 2)
			there = run_until_received(serve, &found, code);
		else if (killed == 2 && short_forks)
			there = run_until_forked(serve, code);
		else
			there = run_for(serve, next_random(&random) % (killed < 4 ? 60000 : 25000), code);
		if (!there || killed >= kills)
			break;
		kill(serve, SIGKILL);
		(void)exit_code(serve);
		killed++;
		at_receipt += found;
		wait_for_rest(app);
		serve = start_serve(paged);
	}
	fprintf(stderr, "drain_test: %d kills, %d of them right after a descriptor, serve ended with %d\n", killed, at_receipt,
		*code);
	if (killed < kills && !*code)
		*code = 125;
	return serve;
}

/* What a process says that is started when all is over, with and without the mark of success. */
static void check_mark(const char *paged)
{
	char drained[sizeof(journal) + 16];

	CHECK(stored_count == 1);
	CHECK(access(journal, F_OK) && errno == ENOENT);
	snprintf(drained, sizeof(drained), "%s.drained", journal);
	CHECK(start_once_more(paged) == 0 && !access(drained, F_OK));
	CHECK(!unlink(drained) && start_once_more(paged) == 3 && access(drained, F_OK));
}

int main(int argc, char **argv)
{
	const char *paged = argc > 1 ? argv[1] : "";
	int kills = argc > 2 ? atoi(argv[2]) : 24, code = -1, go[2];
	pid_t app, serve;

	seed = argc > 3 && *argv[3] ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	seed &= 0xffffffff;
	short_forks = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	fprintf(stderr, "drain_test: seed %llu\n", (unsigned long long)seed);
	raise_descriptor_limit();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	make_directories();
	open_notify();
	CHECK(!pipe2(go, O_CLOEXEC));
	app = start_application(go[0]);
	dump(paged, app);
	serve = start_serve(paged);
	CHECK(write(go[1], "", 1) == 1);
	serve = serve_with_kills(paged, app, serve, kills, &code);
	*stop = 1;
	if (code) {
		kill(serve, SIGKILL);
		kill(app, SIGKILL);
		return 1;
	}
	wait_for_rest(app);
	if (exit_code(app))
		return 1;
	check_mark(paged);
	snprintf(images, sizeof(images), "rm -rf %s", directory);
	return system(images) ? 1 : 0;
}
