/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <string.h>

#include "base/lines.h"
#include "parking/near.h"
#include "parking/parking.h"

/* include/net/tcp_states.h */
enum { STATE_ESTABLISHED = 1 };
/* Microseconds. What is farther away would lengthen the freeze by more than it gains. */
enum { NEAR = 20000 };
/* More would lengthen the freeze by more than a few milliseconds. */
enum { MOST = 1000 };

struct listing {
	FILE *file;
	size_t count;
	struct own_addresses addresses;
	struct process_handle handle;
};

static bool is_near(int socket, uint32_t *round_trip)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) || info.tcpi_state != STATE_ESTABLISHED)
		return false;
	/* One that was never measured is all ones. */
	*round_trip = info.tcpi_min_rtt;
	return *round_trip <= NEAR;
}

static void list_descriptor(struct listing *listing, struct near_peer *one)
{
	CLEANUP_FD int copy = copy_of(&listing->handle, one->pid, one->number);

	if (copy < 0 || !is_near(copy, &one->round_trip) || ends_read(copy, &one->own, &one->peer) ||
	    is_own(&listing->addresses, &one->own, &one->peer))
		return;
	near_write(listing->file, one);
	listing->count++;
}

static int list_process(struct listing *listing, pid_t pid)
{
	struct near_peer one = { .pid = pid };
	struct dirent *entry;
	uint64_t number;
	char path[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? 0 : fail("The descriptors of process %d cannot be read: %s", pid, strerror(errno));
	while (listing->count < MOST && (entry = readdir(directory)))
		if (socket_inode(dirfd(directory), entry->d_name) && !parse_number(entry->d_name, INT_MAX, &number)) {
			one.number = (int)number;
			list_descriptor(listing, &one);
		}
	closedir(directory);
	return 0;
}

int parking_list(FILE *file, char **pids, size_t count)
{
	struct listing listing = { .file = file, .handle = { .process = -1 } };
	uint64_t pid;
	int result = 0;

	fputs(LINES_HEAD "\n", file);
	own_addresses_read(&listing.addresses);
	for (size_t i = 0; i < count && !result; i++) {
		if (parse_number(pids[i], INT_MAX, &pid) || !pid)
			result = fail("'%s' is no process id.", pids[i]);
		else
			result = list_process(&listing, (pid_t)pid);
	}
	close_fd(&listing.handle.process);
	own_addresses_free(&listing.addresses);
	if (!result && (fflush(file) || ferror(file)))
		result = fail_errno("The list of near peers cannot be written");
	return result;
}
