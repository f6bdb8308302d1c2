/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files: those that a process has open for writing or maps, on a file system that outlives the kernel. A descriptor that can only
 * read is none of them: whoever reads a file expects others to write it. Neither is a file that no path of the node leads to: CRIU carries
 * deleted ones, and those that only the unit sees are made again with its mounts. A directory that the unit sees at another place, such as
 * its private /tmp on a disk, is named with it. No file is opened, and none is read.
 */
#include "note_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base.h"
#include "identity.h"

#define OVERLAY_MAGIC 0x794c7630u
#define ZFS_MAGIC 0x2fc12fc1u
#define NFS_MAGIC 0x6969u
#define CIFS_MAGIC 0xff534d42u
#define SMB2_MAGIC 0xfe534d42u
#define FUSE_MAGIC 0x65735546u
#define CEPH_MAGIC 0x00c36400u
#define NINEP_MAGIC 0x01021997u
#define BCACHEFS_MAGIC 0xca451a4eu

/* A file of the list; the device number tells files of this boot apart. */
struct found {
	uint64_t device;
	struct identity identity;
};

/* Where the unit sees a directory of the node. */
struct bound {
	const char *point, *directory;
};

#define BOUND_MAX 64

struct list {
	struct found *found;
	size_t count, room;
	struct bound bound[BOUND_MAX];
	unsigned int bound_count;
};

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->found[i].identity.path);
	free(list->found);
}

/* Whether a file system without a device of its own outlives the kernel all the same. */
static bool outlives_the_kernel(const char *path)
{
	static const uint32_t types[] = { BTRFS_SUPER_MAGIC, OVERLAY_MAGIC, ZFS_MAGIC,  NFS_MAGIC,   CIFS_MAGIC,
					  SMB2_MAGIC,        FUSE_MAGIC,    CEPH_MAGIC, NINEP_MAGIC, BCACHEFS_MAGIC };
	struct statfs system;

	if (statfs(path, &system))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i] == ((uint64_t)system.f_type & UINT32_MAX))
			return true;
	return false;
}

static bool is_same(const struct statx *one, const struct statx *other)
{
	return one->stx_ino == other->stx_ino && one->stx_dev_major == other->stx_dev_major &&
	       one->stx_dev_minor == other->stx_dev_minor;
}

/* Finds the node's path of what the unit sees at `seen`. -1 if it is too long. */
static int name_on_node(const struct list *list, const char *seen, char *path)
{
	const char *directory = "", *rest = seen;

	for (unsigned int i = 0; i < list->bound_count; i++) {
		size_t length = strlen(list->bound[i].point);

		if (!strncmp(seen, list->bound[i].point, length) && seen[length] == '/') {
			directory = list->bound[i].directory;
			rest = seen + length;
		}
	}
	return snprintf(path, PATH_MAX, "%s%s", directory, rest) < PATH_MAX ? 0 : -1;
}

/* Adds the file that `link`, a link of /proc, leads to. */
static int add(struct list *list, const char *link, const struct statx *status, enum use use)
{
	char seen[PATH_MAX], path[PATH_MAX];
	struct statx named;
	ssize_t length;

	if (!status->stx_nlink || (!status->stx_dev_major && !outlives_the_kernel(link)))
		return 0;
	length = readlink(link, seen, sizeof(seen) - 1);
	if (length <= 0)
		return length < 0 && errno != ENAMETOOLONG ? fail_errno("the link %s cannot be read", link) : 0;
	seen[length] = '\0';
	if (name_on_node(list, seen, path) || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &named) || !is_same(status, &named))
		return 0;
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->found = take_more(list->found, list->room, sizeof(*list->found));
	}
	struct found *found = &list->found[list->count];

	*found = (struct found){ .device = (uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor };
	found->identity.use = use;
	if (identity_fill(&found->identity, status, link))
		return fail_errno("the file system of %s cannot be asked", path);
	found->identity.path = strdup(path);
	if (!found->identity.path)
		return fail("no memory for the name %s", path);
	list->count++;
	return 0;
}

/* The flags of a descriptor, as of open(2); -1 if it cannot be told. */
static long descriptor_flags(unsigned int process, unsigned int number)
{
	char path[64], text[256], *flags;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", process, number);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got <= 0)
		return -1;
	text[got] = '\0';
	flags = strstr(text, "flags:");
	return flags ? strtol(flags + strlen("flags:"), NULL, 8) : -1;
}

static int add_descriptor(struct list *list, unsigned int process, unsigned int number)
{
	char link[64];
	struct statx status;
	long flags;

	snprintf(link, sizeof(link), "/proc/%u/fd/%u", process, number);
	/* Most descriptors of a busy server are sockets: this is all that they cost. */
	if (statx(AT_FDCWD, link, 0, IDENTITY_MASK, &status))
		return errno == ENOENT ? 0 : fail_errno("descriptor %u of process %u cannot be looked at", number, process);
	if (!S_ISREG(status.stx_mode))
		return 0;
	flags = descriptor_flags(process, number);
	if (flags < 0)
		return fail("the flags of descriptor %u of process %u cannot be read", number, process);
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY)
		return 0;
	return add(list, link, &status, flags & O_APPEND ? USE_APPENDED : USE_WRITTEN);
}

static int add_descriptors(struct list *list, unsigned int process)
{
	char path[64];
	struct dirent *entry;
	DIR *directory;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", process);
	directory = opendir(path);
	if (!directory)
		return fail_errno("the descriptors of process %u cannot be listed", process);
	while (!result && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			result = add_descriptor(list, process, (unsigned int)strtoul(entry->d_name, NULL, 10));
	closedir(directory);
	return result;
}

/* What one line of /proc/PID/maps says of a file. */
struct area {
	uint64_t start, end, inode;
	unsigned int major, minor;
	enum use use;
};

/* Whether the line is about a file, and one whose content the process relies on. */
static bool parse_area(const char *line, struct area *area)
{
	char rights[5];
	int parsed = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64, &area->start, &area->end, rights, &area->major,
			    &area->minor, &area->inode);

	if (parsed != 6 || !area->inode || strlen(rights) != 4)
		return false;
	if (rights[3] == 's' && rights[1] == 'w')
		area->use = USE_WRITTEN;
	else
		area->use = USE_MAPPED;
	/* What others may write, and this process only reads. */
	return rights[3] == 'p' || rights[1] == 'w' || rights[2] == 'x';
}

/* The areas that were looked at already: a library has several, and one of 1,000,000 areas of a file is enough. */
struct seen {
	struct area *areas;
	size_t count, room;
};

static size_t slot(const struct seen *seen, const struct area *area)
{
	uint64_t key = (area->inode * 31 + area->minor * 7 + area->major) * 2 + (area->use == USE_WRITTEN);
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15u) & (seen->room - 1);

	while (seen->areas[at].inode && (seen->areas[at].inode != area->inode || seen->areas[at].major != area->major ||
					 seen->areas[at].minor != area->minor || seen->areas[at].use != area->use))
		at = (at + 1) & (seen->room - 1);
	return at;
}

/* Whether the file is new; remembers it. */
static bool is_new(struct seen *seen, const struct area *area)
{
	if (2 * seen->count >= seen->room) {
		struct seen larger = { .room = seen->room ? 2 * seen->room : 256 };

		larger.areas = take(larger.room * sizeof(*larger.areas));
		for (size_t i = 0; i < seen->room; i++)
			if (seen->areas[i].inode)
				larger.areas[slot(&larger, &seen->areas[i])] = seen->areas[i];
		larger.count = seen->count;
		free(seen->areas);
		*seen = larger;
	}
	size_t at = slot(seen, area);

	if (seen->areas[at].inode)
		return false;
	seen->areas[at] = *area;
	seen->count++;
	return true;
}

static int add_area(struct list *list, unsigned int process, const struct area *area)
{
	char link[96];
	struct statx status;

	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, process, area->start, area->end);
	/* Not there: mapped by a driver, or the vsyscall page. */
	if (statx(AT_FDCWD, link, 0, IDENTITY_MASK, &status))
		return errno == ENOENT ? 0 : fail_errno("the mapped file %s cannot be looked at", link);
	return S_ISREG(status.stx_mode) ? add(list, link, &status, area->use) : 0;
}

static int add_areas(struct list *list, struct seen *seen, unsigned int process)
{
	char path[64], *line = NULL;
	struct area area;
	size_t room = 0;
	int result = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", process);
	maps = fopen(path, "re");
	if (!maps)
		return fail_errno("the memory map of process %u cannot be read", process);
	while (!result && getline(&line, &room, maps) > 0)
		if (parse_area(line, &area) && is_new(seen, &area))
			result = add_area(list, process, &area);
	free(line);
	fclose(maps);
	return result;
}

static int compare(const void *left, const void *right)
{
	const struct found *one = left, *other = right;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	if (one->identity.inode != other->identity.inode)
		return one->identity.inode < other->identity.inode ? -1 : 1;
	/* The strongest use first: it counts. */
	return (int)other->identity.use - (int)one->identity.use;
}

static int write_list(struct list *list, int directory, const char *unit)
{
	char name[NAME_MAX + 1];

	if (strchr(unit, '/') || snprintf(name, sizeof(name), "files-%s", unit) >= (int)sizeof(name))
		return fail("'%s' is no unit", unit);
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
	const struct found *last = NULL;

	if (!stream)
		return fail_errno("the list %s cannot be written", name);
	if (list->count)
		qsort(list->found, list->count, sizeof(*list->found), compare);
	for (size_t i = 0; i < list->count; i++) {
		const struct found *found = &list->found[i];

		if (!last || last->device != found->device || last->identity.inode != found->identity.inode)
			identity_write(stream, &found->identity);
		last = found;
	}
	bool broken = ferror(stream);

	return fclose(stream) || broken ? fail_errno("the list %s cannot be written", name) : 0;
}

/* Takes the words "--bound POINT DIRECTORY". */
static int take_bound(char ***words, struct list *list)
{
	for (; **words && !strcmp(**words, "--bound"); *words += 3) {
		char *point = (*words)[1], *directory = point ? (*words)[2] : NULL;

		if (!directory || *point != '/' || *directory != '/' || list->bound_count == BOUND_MAX)
			return fail("--bound is not understood, expected at most %d times a POINT and a DIRECTORY", BOUND_MAX);
		list->bound[list->bound_count++] = (struct bound){ .point = point, .directory = directory };
	}
	return 0;
}

/* Takes the words up to the next "--unit". */
static int note_unit(char ***words, int directory)
{
	struct list list = { 0 };
	struct seen seen = { 0 };
	const char *unit = *(*words)++;
	int result = take_bound(words, &list);

	for (; !result && **words && strcmp(**words, "--unit"); (*words)++) {
		char *end;
		unsigned long process = strtoul(**words, &end, 10);

		if (*end || !process || process > INT_MAX)
			result = fail("'%s' is no process id", **words);
		else if (add_descriptors(&list, (unsigned int)process) || add_areas(&list, &seen, (unsigned int)process))
			result = -1;
	}
	if (!result)
		result = write_list(&list, directory, unit);
	list_free(&list);
	free(seen.areas);
	return result;
}

int note_files(int count, char **words)
{
	if (count < 1)
		return fail("no folder is named");
	CLEANUP_FD int directory = open(*words, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return fail_errno("the folder %s cannot be opened", *words);
	for (words++; *words;) {
		if (strcmp(*words, "--unit") || !words[1])
			return fail("'%s' is not understood, expected --unit UNIT", *words);
		words++;
		if (note_unit(&words, directory))
			return -1;
	}
	return 0;
}
