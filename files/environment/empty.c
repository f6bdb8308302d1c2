/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An application has made the tree, and may have made it deeper than there are descriptors: directories below a depth are moved to the top.
 */
#include "empty.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base.h"

/* Deeper than anything that is mounted there. */
#define DEPTH_MAX 64

struct walk {
	int top;
	unsigned int depth;
	/* Names that have been given to directories at the top. */
	unsigned int moved;
};

static int remove_entries(struct walk *walk, int directory);

/* Not in another mount, also not of the same file system: systemd may have bound a directory there (BindPaths=). */
static int open_in_same_mount(int directory, const char *name)
{
	return open_resolved(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
			     RESOLVE_NO_XDEV | RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Whether the directory has got a name at the top that nothing else had. */
static bool move_to_top(struct walk *walk, int directory, const char *name)
{
	for (int i = 0; i < 1000; i++) {
		char free_name[32];

		snprintf(free_name, sizeof(free_name), "kup-%u", walk->moved++);
		if (!syscall(SYS_renameat2, directory, name, walk->top, free_name, RENAME_NOREPLACE))
			return true;
	}
	return false;
}

/*
 * Whether something is mounted there. In the mount namespace of another process the kernel would remove the directory, or the file, and the
 * mount with it.
 */
static bool is_mount_point(int directory, const char *name)
{
	struct statx found;

	return !statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &found) &&
	       (found.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Whether something has changed. */
static bool remove_entry(struct walk *walk, int directory, const char *name)
{
	bool changed = false;

	if (is_mount_point(directory, name))
		return false;
	if (!unlinkat(directory, name, 0) || !unlinkat(directory, name, AT_REMOVEDIR))
		return true;
	if (walk->depth == DEPTH_MAX)
		return move_to_top(walk, directory, name);
	CLEANUP_FD int inside = open_in_same_mount(directory, name);

	if (inside < 0)
		return false;
	walk->depth++;
	changed = remove_entries(walk, inside) > 0;
	walk->depth--;
	return !unlinkat(directory, name, AT_REMOVEDIR) || changed;
}

/* 1 if something has changed, 0 if not; -1 with errno. */
static int remove_entries(struct walk *walk, int directory)
{
	/* With an offset of its own, at the beginning. */
	int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	int changed = 0;

	if (!stream) {
		close_fd(&again);
		return -1;
	}
	while ((entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && remove_entry(walk, directory, entry->d_name))
			changed = 1;
	closedir(stream);
	return changed;
}

int empty_directory(int directory)
{
	struct walk walk = { .top = directory };
	int changed;

	do
		changed = remove_entries(&walk, directory);
	while (changed > 0);
	return changed;
}
