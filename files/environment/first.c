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

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base.h"

#define INIT "/sbin/init"
#define PATH "LD_LIBRARY_PATH"
#define LIBRARY "/libbpf.so.1"

/* plugins/module_utils/_paths.py: in which of them the node has the state of its updates */
static const char *const folders[] = { "/usr/local/var/kup/without-bpf", "/var/lib/kup/without-bpf" };

static void hide_library(void)
{
	char path[256];

	if (getenv(PATH))
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", folders[i], LIBRARY);
		if (access(path, F_OK))
			continue;
		if (setenv(PATH, folders[i], 0))
			fail_errno("%s cannot be hidden", path);
		return;
	}
}

void become_init(char **argv)
{
	hide_library();
	argv[0] = INIT;
	execv(INIT, argv);
	fail_errno("%s cannot be started", INIT);
}
