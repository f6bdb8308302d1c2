/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and their start times. */
#include "serve/process.h"

#include <signal.h>
#include <unistd.h>

#include "snapshot.h"
#include "unit.h"

void test_process(void)
{
	pid_t child = fork();
	uint64_t start_time;

	CHECK(child >= 0);
	if (!child) {
		pause();
		_exit(0);
	}
	start_time = process_start_time(child);
	CHECK(start_time && process_parent(child) == getpid() && process_shares_pid_namespace(child));
	/* Another process with this number, and one that must not be killed. */
	process_kill(child, start_time + 1);
	process_kill(child, 0);
	CHECK(process_start_time(child) == start_time && !kill(child, SIGTERM));
	CHECK(exit_code(child) == 128 + SIGTERM);
	CHECK(!process_start_time(child) && !process_parent(child) && !process_shares_pid_namespace(child));
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	process_kill(child, process_start_time(child));
	CHECK(exit_code(child) == 128 + SIGKILL);
}
