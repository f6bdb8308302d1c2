/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "groups.h"

#include <grp.h>
#include <unistd.h>

#include "common/base.h"

void become_without_groups(char *const *argv)
{
	if (setgroups(0, NULL)) {
		fail_errno("the supplementary groups cannot be given up");
		return;
	}
	execv(argv[0], argv);
	fail_errno("%s cannot be started", argv[0]);
}
