/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base.h"
#include "empty.h"

static const char *const allowed[] = { "/run", "/dev/shm", "/tmp" };

/* The object of a step: its directory, opened, and its name in it. */
struct spot {
	int directory;
	char name[256];
};

int open_beneath(int directory, const char *path, int flags)
{
	return open_resolved(directory, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Whether the path goes up anywhere. */
static bool goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

/* Whether the path is the directory or below it. */
static bool is_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (path[length] == '/' || path[length] == '\0');
}

static bool is_allowed(const struct place *place, const char *path)
{
	if (goes_up(path))
		return false;
	for (size_t i = 0; place->view && i < place->view->count; i++)
		if (place->view->steps[i].kind == PRIVATE && is_in(path, place->view->steps[i].object))
			return true;
	for (size_t i = 0; !place->view && i < sizeof(allowed) / sizeof(*allowed); i++)
		if (is_in(path, allowed[i]))
			return true;
	return false;
}

/* Finds the directory of the path. The caller closes it. */
static int find_spot(const struct place *place, const char *path, struct spot *spot)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');

	spot->directory = -1;
	if (!is_allowed(place, path) || !slash || !slash[1] || !strcmp(slash, "/.")) {
		errno = EPERM;
		return -1;
	}
	if ((size_t)(slash - path) >= sizeof(parent) || strlen(slash + 1) >= sizeof(spot->name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(parent, sizeof(parent), ".%.*s", (int)(slash - path), path);
	strcpy(spot->name, slash + 1);
	spot->directory = open_beneath(place->root, parent, O_PATH | O_DIRECTORY);
	return spot->directory < 0 ? -1 : 0;
}

/* The name by which a descriptor opened with O_PATH can be given to calls that take paths. */
static void name_descriptor(char *name, size_t size, int fd)
{
	snprintf(name, size, "/proc/self/fd/%d", fd);
}

/* Gives the object OWNER and GROUP, then MODE: a change of the owner takes set-user-ID bits away. */
static int set_rights(int fd, const struct word *words)
{
	long mode = word_number(&words[0], 8, 07777);
	long owner = word_number(&words[1], 10, UINT32_MAX - 1), group = word_number(&words[2], 10, UINT32_MAX - 1);
	char name[64];

	if (mode < 0 || owner < 0 || group < 0) {
		errno = EINVAL;
		return -1;
	}
	name_descriptor(name, sizeof(name), fd);
	return fchownat(fd, "", (uid_t)owner, (gid_t)group, AT_EMPTY_PATH) || chmod(name, (mode_t)mode) ? -1 : 0;
}

/* Removes what has the name, unless it is a directory; what this boot has put there is not what the applications had. */
static int make_way(const struct spot *spot)
{
	return unlinkat(spot->directory, spot->name, 0) && errno != ENOENT ? -1 : 0;
}

/* Opens the directory PATH, which is made where the boot has not made it yet (/run/lock). */
static int open_mount_point(const struct place *place, const char *path)
{
	struct spot spot;
	int found = find_spot(place, path, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found || (mkdirat(directory, spot.name, 0755) && errno != EEXIST))
		return -1;
	return open_beneath(directory, spot.name, O_PATH | O_DIRECTORY);
}

int place_mount(const struct place *place, const struct step *step)
{
	char name[64];
	struct stat inside, outside;
	CLEANUP_FD int fd = open_mount_point(place, step->object);
	CLEANUP_FD int parent = fd < 0 ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (parent < 0 || fstat(fd, &inside) || fstat(parent, &outside))
		return -1;
	if (inside.st_dev != outside.st_dev)
		return 0;
	const char *options = step->words[0].text;
	unsigned long flags = MS_NOSUID | MS_NODEV;

	/* The only one of the words that is not for tmpfs itself. */
	if (!strncmp(options, "noexec", 6) && (options[6] == ',' || options[6] == '\0')) {
		flags |= MS_NOEXEC;
		options += options[6] ? 7 : 6;
	}
	name_descriptor(name, sizeof(name), fd);
	return mount("tmpfs", name, "tmpfs", flags, options);
}

int place_directory(const struct place *place, const struct step *step)
{
	struct spot spot;
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found || (mkdirat(directory, spot.name, 0700) && errno != EEXIST))
		return -1;
	CLEANUP_FD int fd = openat(directory, spot.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -1 : set_rights(fd, step->words);
}

static int copy_content(int to, const struct place *place, const struct word *number)
{
	static char buffer[1 << 16];
	ssize_t got;

	if (word_number(number, 10, INT32_MAX) < 0) {
		errno = EINVAL;
		return -1;
	}
	CLEANUP_FD int from = openat(place->contents, number->text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return -1;
	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		if (write_all(to, buffer, (size_t)got))
			return -1;
	return got < 0 ? -1 : 0;
}

int place_file(const struct place *place, const struct step *step)
{
	const struct word *words = step->words;
	long seconds = word_number(&words[3], 10, INT64_MAX), nanoseconds = word_number(&words[4], 10, 999999999);
	struct spot spot;
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found || make_way(&spot))
		return -1;
	CLEANUP_FD int fd = openat(directory, spot.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || copy_content(fd, place, &words[5]) || set_rights(fd, words))
		return -1;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = seconds, .tv_nsec = nanoseconds } };

	if (seconds < 0 || nanoseconds < 0) {
		errno = EINVAL;
		return -1;
	}
	return futimens(fd, times);
}

int place_fifo(const struct place *place, const struct step *step)
{
	struct spot spot;
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found || make_way(&spot) || mkfifoat(directory, spot.name, 0600))
		return -1;
	CLEANUP_FD int fd = openat(directory, spot.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -1 : set_rights(fd, step->words);
}

int place_symlink(const struct place *place, const struct step *step)
{
	long owner = word_number(&step->words[0], 10, UINT32_MAX - 1), group = word_number(&step->words[1], 10, UINT32_MAX - 1);
	struct spot spot;
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found)
		return -1;
	if (owner < 0 || group < 0) {
		errno = EINVAL;
		return -1;
	}
	if (make_way(&spot) || symlinkat(step->words[2].text, directory, spot.name))
		return -1;
	return fchownat(directory, spot.name, (uid_t)owner, (gid_t)group, AT_SYMLINK_NOFOLLOW);
}

int place_hardlink(const struct place *place, const struct step *step)
{
	struct spot from, to;
	int found = find_spot(place, step->words[0].text, &from);
	CLEANUP_FD int there = from.directory;

	if (found)
		return -1;
	found = find_spot(place, step->object, &to);
	CLEANUP_FD int here = to.directory;

	return found || make_way(&to) || linkat(there, from.name, here, to.name, 0) ? -1 : 0;
}

int place_xattr(const struct place *place, const struct step *step)
{
	const struct word *words = step->words;
	struct spot spot;
	char name[64];
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found)
		return -1;
	CLEANUP_FD int fd = openat(directory, spot.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	name_descriptor(name, sizeof(name), fd);
	return setxattr(name, words[0].text, words[1].text, words[1].length, 0);
}

/* Whether the directory is what the node itself has at this path. */
static bool is_nodes(int directory, const char *path)
{
	struct stat here, there;

	return !fstat(directory, &here) && !fstatat(AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

int place_private(const struct place *place, const struct step *step)
{
	struct spot spot;
	int found = find_spot(place, step->object, &spot);
	CLEANUP_FD int directory = spot.directory;

	if (found)
		return -1;
	CLEANUP_FD int fd = openat(directory, spot.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!place->view || is_nodes(fd, step->object)) {
		errno = EBUSY;
		return -1;
	}
	return empty_directory(fd) ? -1 : set_rights(fd, step->words);
}
