/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pairs/stage.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int stage_enter(const char *place)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("kup-pairs", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=64m") || chdir(place))
		return fail_errno("No file system of its own can be made for the sockets");
	/* The old root goes on top of the new one, and away: this process must not keep file systems mounted (pivot_root(2)). */
	if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return fail_errno("The file system of the sockets cannot be entered");
	umask(0);
	return 0;
}

static socklen_t address_of(const struct pair_end *end, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, end->name, end->name_size);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + end->name_size);
}

static void path_of(const struct pair_end *end, char path[PAIR_NAME_MAX + 1])
{
	memcpy(path, end->name, end->name_size);
	path[end->name_size] = '\0';
}

/* Makes the directories of a path, which may be relative. */
static int make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

int stage_bind(int socket, const struct pair_end *end)
{
	char path[PAIR_NAME_MAX + 1];
	struct sockaddr_un address;
	socklen_t size = address_of(end, &address);

	path_of(end, path);
	if (name_is_path(end) && make_directories(path))
		return -1;
	if (!bind(socket, (struct sockaddr *)&address, size))
		return 0;
	/* The file of the last one stays as long as it can: CRIU takes a name whose file is gone for one to be removed. */
	return errno != EADDRINUSE || !name_is_path(end) || unlink(path) ? -1 : bind(socket, (struct sockaddr *)&address, size);
}

int stage_connect(int socket, const struct pair_end *end)
{
	struct sockaddr_un address;
	socklen_t size = address_of(end, &address);

	return connect(socket, (struct sockaddr *)&address, size);
}
