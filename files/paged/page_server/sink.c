/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page_server/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PIPE_SIZE (1 << 20)

int sink_open(struct sink *sink)
{
	sink->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (sink->null < 0 || pipe2(sink->pipe, O_CLOEXEC))
		return fail_errno("/dev/null or a pipe into it cannot be opened");
	/* It works with a smaller pipe as well. */
	(void)fcntl(sink->pipe[1], F_SETPIPE_SZ, PIPE_SIZE);
	return 0;
}

void sink_close(struct sink *sink)
{
	close_fd(&sink->pipe[0]);
	close_fd(&sink->pipe[1]);
	close_fd(&sink->null);
}

int sink_drop(const struct sink *sink, int socket, uint64_t bytes)
{
	uint64_t in_pipe = 0;

	while (bytes || in_pipe) {
		ssize_t moved = in_pipe ? splice(sink->pipe[0], NULL, sink->null, NULL, in_pipe, 0) :
					  splice(socket, NULL, sink->pipe[1], NULL, bytes, 0);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return fail_errno("the page stream cannot be read");
		if (!moved)
			return fail("the page stream ends in the middle of a run: CRIU has given up");
		if (in_pipe) {
			in_pipe -= (uint64_t)moved;
		} else {
			bytes -= (uint64_t)moved;
			in_pipe = (uint64_t)moved;
		}
	}
	return 0;
}
