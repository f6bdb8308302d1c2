/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plug-in of CRIU for dumps: connections of unix stream sockets that lead out of the tree are no reason to refuse it. `fingerprint` takes
 * them (files/fingerprint/pairs). CRIU's options would do, but they name inodes, which nobody knows before CRIU has frozen the tree.
 *
 * Each inode becomes a line of the file "pairs" among the images. After that CRIU restores the socket from a descriptor that it inherits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* CRIU's include/criu-plugin.h, which is the same from 3.17 to 4.2 as far as this goes: later versions have more hooks behind these. */
#define CRIU_PLUGIN_VERSION (0 << 16 | 2 << 8 | 0)
enum { HOOK_DUMP_UNIX_SK = 0, HOOKS = 1 };
enum { STAGE_DUMP = 0 };

struct plugin {
	const char *name;
	int (*init)(int stage);
	void (*exit)(int stage, int result);
	unsigned int version;
	unsigned int max_hooks;
	void *hooks[HOOKS];
};

extern int criu_get_image_dir(void);

static int write_inode(int inode)
{
	char line[16];
	int length = snprintf(line, sizeof(line), "%u\n", (unsigned int)inode);
	int file = openat(criu_get_image_dir(), "pairs", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	int result = file < 0 ? -errno : 0;

	if (!result && write(file, line, (size_t)length) != length)
		result = -EIO;
	if (file >= 0)
		close(file);
	return result;
}

/* 0: the socket may be dumped without its peer. -ENOTSUP: CRIU has to know what to do. */
static int dump_unix_socket(int socket, int inode)
{
	int type;
	socklen_t size = sizeof(type);
	int result;

	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) || (type != SOCK_STREAM && type != SOCK_SEQPACKET))
		return -ENOTSUP;
	result = write_inode(inode);
	/* An error that CRIU does not take for "not mine". */
	return result == -ENOTSUP ? -EIO : result;
}

static int init(int stage)
{
	return stage == STAGE_DUMP && criu_get_image_dir() < 0 ? -1 : 0;
}

static void finish(int stage, int result)
{
	(void)stage;
	(void)result;
}

extern struct plugin CR_PLUGIN_DESC;
__attribute__((visibility("default"))) struct plugin CR_PLUGIN_DESC = {
	.name = "kup_pairs",
	.init = init,
	.exit = finish,
	.version = CRIU_PLUGIN_VERSION,
	.max_hooks = HOOKS,
	.hooks = { [HOOK_DUMP_UNIX_SK] = (void *)dump_unix_socket },
};
