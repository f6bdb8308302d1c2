// SPDX-License-Identifier: GPL-3.0-or-later
/* New kernel: frames for tasks that run already, and wait for their pages. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"

/* Its number in each task. */
#define USERFAULTFD 100

/* Areas that the first task gets when it runs; all others it has before. */
static bool is_late(const struct area *area)
{
	return area->is_huge || area->is_shared;
}

void wait_for_pages(int task)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	require(fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && dup2(fd, USERFAULTFD) == USERFAULTFD, "userfaultfd");
	close(fd);
	for (unsigned int i = 0; i < AREAS; i++) {
		struct uffdio_register area = { .range = { areas[i].start, areas[i].pages * PAGE },
						.mode = UFFDIO_REGISTER_MODE_MISSING };

		require(!has_area(task, areas + i) || !ioctl(USERFAULTFD, UFFDIO_REGISTER, &area), "UFFDIO_REGISTER");
	}
}

void say_compared(void)
{
	require(!mkdir("/compared", 0700), "/compared");
	raise(SIGSTOP);
	close(USERFAULTFD);
}

static int userfaultfd_of(pid_t pid)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), fd = syscall(SYS_pidfd_getfd, pidfd, USERFAULTFD, 0);

	require(fd >= 0, "the task's userfaultfd");
	close(pidfd);
	return fd;
}

struct server {
	int device, userfaultfd;
	pthread_mutex_t turn; /* two calls for one frame must not meet */
	atomic_ulong filled, faults;
	atomic_bool done;
};

static void wake(const struct server *server, uint64_t address, uint64_t pages)
{
	struct uffdio_range range = { address, pages * PAGE };

	ioctl(server->userfaultfd, UFFDIO_WAKE, &range);
}

/* One call, for the first task's pages; returns how many it has filled, with errno if there are none. */
static uint32_t fill(struct server *server, uint64_t address, uint32_t pages, uint32_t flags)
{
	struct kup_ppp_fill fill = { server->userfaultfd, 0, pages, flags, address, address, 0 };
	int error;

	pthread_mutex_lock(&server->turn);
	error = ioctl(server->device, KUP_PPP_FILL, &fill) ? errno : 0;
	pthread_mutex_unlock(&server->turn);
	server->filled += fill.filled;
	if (fill.filled)
		wake(server, address, fill.filled);
	errno = error;
	return fill.filled;
}

/* All of an area, as many pages at once as there may be; those that are there already are left out. */
static void fill_area(struct server *server, const struct area *area, uint32_t flags)
{
	for (uint64_t page = 0; page < area->pages;) {
		uint32_t number = area->stride > 1 ? 1 : 1 + page * 7 % KUP_PPP_FILL_MAX;
		uint32_t filled = fill(server, area->start + page * PAGE, number, flags);

		require(filled || errno == EEXIST, "FILL of an area");
		page += filled > 1 ? filled : area->stride;
	}
}

static void *serve_faults(void *argument)
{
	struct server *server = argument;
	struct pollfd events = { .fd = server->userfaultfd, .events = POLLIN };
	struct uffd_msg message;

	while (!server->done) {
		if (poll(&events, 1, 10) <= 0 || read(server->userfaultfd, &message, sizeof(message)) != sizeof(message))
			continue;
		uint64_t address = message.arg.pagefault.address & -PAGE;
		int error = fill(server, address, 1, 0) ? 0 : errno;
		struct uffdio_zeropage zero = { .range = { address, PAGE } };

		server->faults++;
		/* Nothing was recorded there. */
		if (error == ENXIO)
			ioctl(server->userfaultfd, UFFDIO_ZEROPAGE, &zero);
		else if (error == EEXIST)
			wake(server, address, 1);
		else
			require(!error, "FILL of a page that somebody waits for");
	}
	return NULL;
}

static void refusals(const struct server *server)
{
	const struct kup_ppp_fill right = { server->userfaultfd, 0, 1, 0, areas[0].start, areas[0].start, 0 };
	struct kup_ppp_fill fill;

	fill = right, fill.pages = 0;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL of no page");
	fill = right, fill.pages = KUP_PPP_FILL_MAX + 1;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL of too many pages");
	fill = right, fill.flags = 2;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL with an unknown flag");
	fill = right, fill.address++;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL within a page");
	fill = right, fill.address = -PAGE;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL of the kernel's memory");
	fill = right, fill.userfaultfd = server->device;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL by another file");
	fill = right, fill.userfaultfd = 9999;
	refused(server->device, KUP_PPP_FILL, &fill, EINVAL, "FILL by no file");
	fill = right, fill.task = 7;
	refused(server->device, KUP_PPP_FILL, &fill, ENXIO, "FILL from a task that was not recorded");
	fill = right, fill.source = areas[0].start - PAGE;
	refused(server->device, KUP_PPP_FILL, &fill, ENXIO, "FILL from before the first area");
	fill = right, fill.source = areas[6].start + PAGE;
	refused(server->device, KUP_PPP_FILL, &fill, ENXIO, "FILL from a page that was not recorded");
	fill = right, fill.address = areas[0].start - PAGE;
	refused(server->device, KUP_PPP_FILL, &fill, ENOENT, "FILL where no area waits");
	refused(server->device, KUP_PPP_FILL, NULL, EFAULT, "FILL without an argument");
}

/* What was given once is not given again, and nobody reads another's changes. */
static void second_time(const struct server *owner, const struct server *heir)
{
	struct kup_ppp_fill fill = { owner->userfaultfd, 0, 1, 0, areas[0].start, areas[0].start, 0 };

	refused(owner->device, KUP_PPP_FILL, &fill, EEXIST, "a second FILL");
	fill.userfaultfd = heir->userfaultfd;
	fill.address = areas[4].start;
	refused(owner->device, KUP_PPP_FILL, &fill, EEXIST, "FILL over a page");
}

void fill_tasks(int device, const pid_t *tasks, void (*when_stopped)(void))
{
	struct server owner = { .device = device, .userfaultfd = userfaultfd_of(tasks[0]), .turn = PTHREAD_MUTEX_INITIALIZER };
	struct server heir = { .device = device, .userfaultfd = userfaultfd_of(tasks[1]), .turn = PTHREAD_MUTEX_INITIALIZER };
	uint64_t stopped;
	pthread_t thread;

	refusals(&owner);
	/* The second task stands for one that was forked from the first: copies, before the frames are changed. */
	for (unsigned int i = 0; i < AREAS; i++)
		if (has_area(1, areas + i))
			fill_area(&heir, areas + i, KUP_PPP_FILL_COPY);
	for (unsigned int i = 0; i < AREAS; i++)
		if (!is_late(areas + i))
			fill_area(&owner, areas + i, 0);
	stopped = owner.filled;
	second_time(&owner, &heir);
	when_stopped();
	refused(device, KUP_PPP_HAND_OVER, NULL, EBUSY, "HAND_OVER before SEAL");
	require(!ioctl(device, KUP_PPP_SEAL), "SEAL");
	refused(device, KUP_PPP_SEAL, NULL, EBUSY, "a second SEAL");
	refused(device, KUP_PPP_REARM, NULL, EBUSY, "REARM after SEAL");
	require(!pthread_create(&thread, NULL, serve_faults, &owner), "thread");
	require(!kill(tasks[0], SIGCONT), "the first task to go on");
	require(!ioctl(device, KUP_PPP_HAND_OVER), "HAND_OVER");
	refused(device, KUP_PPP_HAND_OVER, NULL, EBUSY, "a second HAND_OVER");
	/* It has begun with the first late area, page by page. Now others come in between. */
	while (owner.faults < 100)
		usleep(1000);
	for (unsigned int i = 0; i < AREAS; i++)
		if (is_late(areas + i))
			fill_area(&owner, areas + i, 0);
	/* Until it has looked at everything, it asks for pages that were not recorded, too. */
	while (access("/compared", F_OK))
		usleep(1000);
	owner.done = true;
	pthread_join(thread, NULL);
	say("late %" PRIu64, owner.filled - stopped);
	say("faults %lu", owner.faults);
	say("bound0 %lu", owner.filled);
	say("bound1 %lu", heir.filled);
	say("copied %lu", heir.filled);
	/* Who was handed a frame may have given it up, then nobody knows what is in it. */
	close(owner.userfaultfd);
	close(heir.userfaultfd);
}
