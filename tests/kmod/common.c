// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/reboot.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char command_line[4096];

void say(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	dprintf(1, "KUPTEST %s\n", line);
}

void power_off(void)
{
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART, NULL);
	for (;;)
		pause();
}

void fail(const char *what)
{
	int error = errno;

	print_log();
	say("failed %s (%s)", what, strerror(error));
	power_off();
}

void require(bool holds, const char *what)
{
	if (!holds)
		fail(what);
}

const char *word(const char *name)
{
	const char *found = strstr(command_line, name);

	return found ? found + strlen(name) : NULL;
}

long number_in(const char *path, const char *format)
{
	char line[256];
	long number = -1;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) == 1)
			break;
	if (file)
		fclose(file);
	return number;
}

double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	require(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(file);
}

void print_log(void)
{
	static const char *const bad[] = { "WARNING:", "BUG", "Call Trace", "Bad page", "Bad rss", "Oops", "general protection" };
	static char log[1 << 20];
	int size = klogctl(3, log, sizeof(log) - 1);
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); size > 0 && line; line = strtok_r(NULL, "\n", &save)) {
		if (strstr(line, "kup_ppp: ")) {
			say("log %s", strstr(line, "kup_ppp: ") + 9);
			continue;
		}
		for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
			if (strstr(line, bad[i]))
				say("warning %s", line);
	}
}

int load_module(const char *path, const char *parameters)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), error;

	require(file >= 0, path);
	error = syscall(SYS_finit_module, file, parameters, 0) ? errno : 0;
	close(file);
	return error;
}

int unload_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

int unload_refused(int device)
{
	/* An open file would hold the module as well. */
	close(device);
	require(unload_module("kup_ppp") == EAGAIN, "unloading to be refused");
	return open_device();
}

int open_device(void)
{
	int device = open("/dev/kup_ppp", O_RDWR | O_CLOEXEC);

	require(device >= 0, "/dev/kup_ppp");
	return device;
}

void refused(int device, unsigned long command, void *argument, int error, const char *what)
{
	errno = 0;
	if (!ioctl(device, command, argument) || errno != error) {
		say("failed %s: %s, expected %s", what, strerror(errno), strerror(error));
		power_off();
	}
}

pid_t start_stopped(void (*before)(void), void (*then)(void))
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

void end_child(pid_t child)
{
	kill(child, SIGKILL);
	require(waitpid(child, NULL, 0) == child, "the child to end");
}

void make_group(void)
{
	require(!mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL), "cgroup2");
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	require(!mkdir(GROUP, 0755), GROUP);
}

void join_group(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(GROUP "cgroup.procs", pid);
}

bool switch_swap_on(void)
{
	static const char disk[] = "/dev/nvme0n1";
	static char page[PAGE];
	/* union swap_header: version, last page; the magic at the end of the page */
	uint32_t version = 1, last = 8191;
	int file;

	if (!word("kuptest.swap"))
		return false;
	for (int i = 0; access(disk, F_OK); i++) {
		require(i < 60, disk);
		usleep(500000);
	}
	memcpy(page + 1024, &version, sizeof(version));
	memcpy(page + 1028, &last, sizeof(last));
	memcpy(page + PAGE - 10, "SWAPSPACE2", 10);
	file = open(disk, O_WRONLY | O_SYNC | O_CLOEXEC);
	require(file >= 0 && write(file, page, PAGE) == (ssize_t)PAGE && !close(file), "to write a swap header");
	require(!swapon(disk, 0), "swapon");
	return true;
}

void window(uint64_t *start, uint64_t *end)
{
	const char *text = word("kuptest.window=");

	require(text && sscanf(text, "%" SCNx64 "-%" SCNx64, start, end) == 2, "kuptest.window");
	++*end;
}

void jump(uint64_t address, uint64_t nonce)
{
	char line[sizeof(command_line) + 128], low[32], high[32];
	uint64_t start, end;
	int status = -1;
	pid_t child;

	window(&start, &end);
	/* The next kernel's is this one's, but for the table. */
	snprintf(line, sizeof(line), "--command-line=kup_ppp.table=0x%" PRIx64 ",0x%" PRIx64 " %s", address, nonce,
		 word("kup_ppp.table=") ? strchr(word("kup_ppp.table="), ' ') : command_line);
	snprintf(low, sizeof(low), "--mem-min=0x%" PRIx64, start);
	snprintf(high, sizeof(high), "--mem-max=0x%" PRIx64, end - 1);
	child = fork();
	if (!child) {
		execl("/kexec", "kexec", "-c", "-l", "/kernel", "--initrd=/initrd", low, high, line, "--no-checks", NULL);
		_exit(127);
	}
	require(child > 0 && waitpid(child, &status, 0) == child && !status, "kexec -l");
	print_log();
	say("jump");
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	fail("kexec");
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
	require(size > 0, "/proc/cmdline");
	command_line[strcspn(command_line, "\n")] = 0;
	if (!word("kup_ppp.table="))
		old_kernel();
	new_kernel();
	print_log();
	say("end");
	power_off();
}
