/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base.h"

#define SIGNALLED 128
#define NOT_STARTED 127

/* A session has the id of the process that makes it. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.exit_signal = SIGCHLD;
	arguments.set_tid = (uintptr_t)&pid;
	arguments.set_tid_size = 1;
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

int run_in_session(pid_t session, char *const *argv)
{
	pid_t child = fork_as(session), ended;
	int status;

	if (!child) {
		if (setsid() == session)
			execv(argv[0], argv);
		fail_errno("%s cannot be started in session %d", argv[0], session);
		_exit(NOT_STARTED);
	}
	if (child < 0) {
		fail_errno("the session %d cannot be made, because no process can have this id", session);
		return -1;
	}
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended < 0) {
		fail_errno("%s cannot be waited for", argv[0]);
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}
