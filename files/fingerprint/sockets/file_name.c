/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/file_name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/lines.h"

/* include/uapi/linux/un.h, since Linux 4.16: the socket's file, opened with O_PATH. */
#define IOCTL_UNIX_FILE 0x89e0

/* Whether nothing is above a directory; above: what ".." is from it. The root of a mount can be the same file as that above. */
static bool is_top(int directory, int above)
{
	struct statx one, other;

	if (statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &one) ||
	    statx(above, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &other))
		return true;
	return one.stx_ino == other.stx_ino && one.stx_dev_major == other.stx_dev_major && one.stx_dev_minor == other.stx_dev_minor &&
	       one.stx_mnt_id == other.stx_mnt_id;
}

/* The root of the process's mount namespace: CRIU binds sockets before a process gets a root directory of its own. */
static int open_root(pid_t pid)
{
	char name[64];
	int root, above;

	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t depth = 0; root >= 0 && depth < PATH_MAX; depth++) {
		above = openat(root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (above < 0)
			break;
		if (is_top(root, above)) {
			close(above);
			break;
		}
		close(root);
		root = above;
	}
	return root;
}

static int open_directory(int root, const char *path, uint64_t resolve)
{
	return root < 0 ? -1 : open_resolved(root, path, O_PATH | O_DIRECTORY, resolve);
}

/* The path of an open file as its own mount namespace has it. -1: it is too long. */
static int path_of(int fd, char *path, size_t size)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, size);

	if (length < 0 || (size_t)length == size)
		return -1;
	path[length] = '\0';
	return 0;
}

/* Splits an absolute path in place into its directory and the name in it. NULL: it is none. */
static char *split_path(char *path)
{
	char *slash = *path == '/' ? strrchr(path, '/') : NULL;

	if (!slash || !slash[1] || strlen(slash + 1) > NAME_MAX)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

/* The path of the directory from this root on. NULL: it is not below it. */
static const char *path_below(const char *root, const char *path)
{
	size_t length = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(path, root, length) || (path[length] && path[length] != '/'))
		return NULL;
	return path[length] ? path + length : "/";
}

/* Whether CRIU binds the socket to its name: it does not with connections that were accepted, which have their listener's name. */
static bool is_bound_anew(int socket)
{
	struct sockaddr_un peer;
	socklen_t size = sizeof(peer), type_size = sizeof(int);
	int type;

	return (!getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &type_size) && type == SOCK_DGRAM) ||
	       getpeername(socket, (struct sockaddr *)&peer, &size);
}

/* The absolute path that the socket was bound to. -1: there is none. */
static int bound_path(int socket, char *path, size_t size)
{
	struct sockaddr_un address = { 0 };
	socklen_t length = sizeof(address) - 1;

	if (getsockname(socket, (struct sockaddr *)&address, &length) || address.sun_path[0] != '/')
		return -1;
	snprintf(path, size, "%.*s", (int)sizeof(address.sun_path), address.sun_path);
	return 0;
}

/* The path of the socket's file now. -1: a file that has no name any more gets none. */
static int current_path(int socket, char *path, size_t size)
{
	struct stat status;
	CLEANUP_FD int own = ioctl(socket, IOCTL_UNIX_FILE);

	return own < 0 || fstat(own, &status) || !status.st_nlink ? -1 : path_of(own, path, size);
}

/* The real path of a directory, from the root of the process's mount namespace on; in *real as this process sees it. NULL: there is none. */
static const char *real_directory(pid_t pid, const char *path, char real[PATH_MAX])
{
	char top[PATH_MAX];
	CLEANUP_FD int root = open_root(pid);
	CLEANUP_FD int directory = open_directory(root, *path ? path : "/", RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (directory < 0 || path_of(root, top, sizeof(top)) || path_of(directory, real, PATH_MAX))
		return NULL;
	return path_below(top, real);
}

void file_name_record(FILE *file, pid_t pid, int number, int socket)
{
	char now[PATH_MAX], bound[sizeof(struct sockaddr_un)], real[PATH_MAX], *current, *name;
	const char *directory;

	if (bound_path(socket, bound, sizeof(bound)) || !is_bound_anew(socket) || current_path(socket, now, sizeof(now)))
		return;
	current = split_path(now);
	name = split_path(bound);
	if (!current || !name || !strcmp(current, name))
		return;
	directory = real_directory(pid, bound, real);
	if (!directory || strcmp(real, *now ? now : "/"))
		return;
	fprintf(file, "name %d %d ", pid, number);
	value_write(file, directory, strlen(directory));
	fputc(' ', file);
	value_write(file, name, strlen(name));
	fputc(' ', file);
	value_write(file, current, strlen(current));
	fputc('\n', file);
}

/* Reads a word that has no zero byte. */
static int read_text(const char *word, char *text, size_t size)
{
	ssize_t length = value_read(word, text, size - 1);

	if (length <= 0 || memchr(text, '\0', (size_t)length))
		return -1;
	text[length] = '\0';
	return 0;
}

static bool is_name(const char *text)
{
	return !strchr(text, '/') && strcmp(text, ".") && strcmp(text, "..");
}

int file_name_parse(char *const *words, size_t count, struct file_name *name)
{
	if (count != 3 || read_text(words[0], name->directory, sizeof(name->directory)) || name->directory[0] != '/' ||
	    read_text(words[1], name->bound, sizeof(name->bound)) || read_text(words[2], name->current, sizeof(name->current)))
		return -1;
	return is_name(name->bound) && is_name(name->current) ? 0 : -1;
}

/* Whether this name is that of the file. */
static bool has_name(int directory, const char *name, const struct stat *file)
{
	struct stat found;

	return !fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

int file_name_put_right(pid_t pid, int socket, const struct file_name *name)
{
	char path[PATH_MAX + 1];
	struct stat own_status, other;
	CLEANUP_FD int own = ioctl(socket, IOCTL_UNIX_FILE);

	if (own < 0 || fstat(own, &own_status))
		return -1;
	/* Links that somebody has put on the way since are not followed. */
	snprintf(path, sizeof(path), ".%s", name->directory);
	CLEANUP_FD int root = open_root(pid);
	CLEANUP_FD int directory = open_directory(root, path, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (directory < 0)
		return -1;
	if (has_name(directory, name->current, &own_status))
		return 0;
	errno = ENOENT;
	if (!has_name(directory, name->bound, &own_status))
		return -1;
	/* On a disk the file of the last boot is still there. */
	if (!fstatat(directory, name->current, &other, AT_SYMLINK_NOFOLLOW) && !S_ISSOCK(other.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	return renameat(directory, name->bound, directory, name->current);
}
