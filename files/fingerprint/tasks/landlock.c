/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/processes.h"

/* Whether the kernel has Landlock. Where securityfs is not mounted that cannot be told, and the thread is asked. */
static bool is_active(void)
{
	char modules[512];

	return read_beginning("/sys/kernel/security/lsm", modules, sizeof(modules)) || strstr(modules, "landlock");
}

/* Whether another security module may forbid the look. */
static bool is_confined(pid_t thread)
{
	char path[64], label[256];

	snprintf(path, sizeof(path), "/proc/%d/attr/current", thread);
	return !read_beginning(path, label, sizeof(label)) && *label && strncmp(label, "unconfined", strlen("unconfined"));
}

static int read_ids(pid_t thread, unsigned int *user, unsigned int *group)
{
	char path[64], text[4096], *users, *groups;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	if (read_beginning(path, text, sizeof(text)))
		return -1;
	users = strstr(text, "\nUid:\t");
	groups = strstr(text, "\nGid:\t");
	return users && groups && sscanf(users, " Uid: %u", user) == 1 && sscanf(groups, " Gid: %u", group) == 1 ? 0 : -1;
}

/* What the thread looks at: a process with its ids, without rights, and open to it. It says so by a byte, and waits for its end. */
static void stand_still(int ready, unsigned int user, unsigned int group)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresgid(group, group, group) || setresuid(user, user, user) || syscall(SYS_capset, &header, none) ||
	    prctl(PR_SET_DUMPABLE, 1) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t start_probe(unsigned int user, unsigned int group)
{
	int ready[2];
	char byte;
	pid_t probe;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	probe = fork();
	if (!probe)
		stand_still(ready[1], user, group);
	close(ready[1]);
	if (probe > 0 && read(ready[0], &byte, 1) != 1) {
		waitpid(probe, NULL, 0);
		probe = -1;
	}
	close(ready[0]);
	return probe;
}

void landlock_begin(struct landlock *landlock)
{
	*landlock = (struct landlock){ .is_active = is_active() };
}

void landlock_end(struct landlock *landlock)
{
	if (landlock->probe <= 0)
		return;
	kill(landlock->probe, SIGKILL);
	waitpid(landlock->probe, NULL, 0);
	landlock->probe = 0;
}

/* What the thread is to look at: the one of the thread before, where that had the same ids. */
static int need_probe(struct landlock *landlock, pid_t thread)
{
	unsigned int user, group;

	if (read_ids(thread, &user, &group))
		return -1;
	if (landlock->probe > 0 && landlock->user == user && landlock->group == group)
		return 0;
	landlock_end(landlock);
	landlock->user = user;
	landlock->group = group;
	landlock->probe = start_probe(user, group);
	return landlock->probe < 0 ? -1 : 0;
}

int landlock_ask(struct landlock *landlock, struct injection *injection, FILE *into)
{
	int64_t said;
	int result;

	if (!landlock->is_active || is_confined(injection->thread))
		return 0;
	if (need_probe(landlock, injection->thread))
		return fail("Thread %d cannot be asked for Landlock: %s.", injection->thread, strerror(errno));
	result = inject_call(injection, SYS_kcmp,
			     (const uint64_t[6]){ (uint64_t)injection->thread, (uint64_t)landlock->probe, KCMP_VM }, &said);
	if (!result && said == -EPERM)
		fprintf(into, "%d landlock 1\n", injection->thread);
	return result;
}
