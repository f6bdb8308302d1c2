/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first process of a boot that goes to the new kernel (plugins/module_utils/_boot/first_process.py).
 *
 * systemd opens libbpf before anything else, to find out what its programs for control groups can do (cg_mask_supported(),
 * bpf_restrict_fs_setup()). The kernel verifies some for that, and all of its types are parsed, while the applications stand still. systemd goes
 * on without a library that it cannot open. Its services do not look where the empty one lies: they get an environment of their own. Its generators
 * do, until the restore is done.
 *
 * Whoever starts a kernel with this one's command line later gets init as it is: the file that asks for this is gone after the commit.
 *
 * Nothing here is needed: whatever fails, systemd starts as it would without it.
 */
#include "first.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base.h"

#define INIT "/sbin/init"
/* In the kernel's own file system of devices, in which nobody but root makes anything. */
#define FOLDER "/dev/kup-start"
#define LIBRARY "libbpf.so.1"
#define PATH "LD_LIBRARY_PATH"

/* plugins/module_utils/_paths.py */
static bool is_wanted(void)
{
	return !access("/usr/local/var/kup/without-bpf", F_OK) || !access("/var/lib/kup/without-bpf", F_OK);
}

static void hide_library(void)
{
	if (!is_wanted() || getenv(PATH))
		return;
	if (mkdir(FOLDER, 0700)) {
		fail_errno("%s cannot be made", FOLDER);
		return;
	}
	CLEANUP_FD int fd = open(FOLDER "/" LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || setenv(PATH, FOLDER, 0))
		fail_errno("%s cannot be hidden", LIBRARY);
}

void become_init(char **argv)
{
	hide_library();
	argv[0] = INIT;
	execv(INIT, argv);
	fail_errno("%s cannot be started", INIT);
}
